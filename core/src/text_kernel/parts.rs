//! The texts of a reduction or scan, and which of them is for which result.

/// The texts of a reduction.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The state of a lane, by the names of its parts: of one part without a name ("") that is `a`, of others `a.name`.
    pub map: Vec<(String, String)>,
    /// How states `a` and `b` combine, in the order of the parts. It must be associative, and of reductions commutative
    /// too: lanes meet in the order of S11. Scans take them in their own.
    pub reduce: Vec<String>,
    /// The results, from `a` and the count `n`, by their names in the header, or without names in their order; left out
    /// they are the state, of several parts those with the results' names.
    pub post: Vec<(String, String)>,
    /// The state of no lanes.
    pub identity: Vec<String>,
}

impl Parts {
    /// The texts, under the header.
    pub(super) fn source(&self, header: &str) -> String {
        let of_parts = |texts: &[String]| texts.join(", ");
        let named = |texts: &[(String, String)]| {
            let named = texts.iter().map(|(name, text)| match &**name {
                "" => text.clone(),
                name => format!("{name}: {text}"),
            });
            named.collect::<Vec<_>>().join(", ")
        };
        let parts = [
            ("map", named(&self.map)),
            ("reduce", of_parts(&self.reduce)),
            ("post", named(&self.post)),
            ("identity", of_parts(&self.identity)),
        ];
        let lines = parts.iter().filter(|(_, text)| !text.is_empty());
        let lines = lines.map(|(name, text)| format!("\n  {name:<9}{text}"));
        format!("{header}{}", lines.collect::<String>())
    }
}

/// Which of the named texts is for each result, or all in their order where they have no names, or there is one. The one that
/// no out parameter is named as is what the function returns.
pub(super) fn in_order(
    part: &str,
    names: &[&str],
    outs: &[&str],
    returns: bool,
) -> std::result::Result<Vec<usize>, String> {
    let is_named = |name: &str| outs.is_empty() || outs.contains(&name);
    let is_only = matches!(names, [name] if name.is_empty() || part == "map" || is_named(name));
    if names.is_empty() || is_only || names.iter().any(|name| name.is_empty()) {
        return Ok((0..names.len()).collect());
    }
    let place = |out: &&str| names.iter().position(|name| name == out);
    let order: Option<Vec<usize>> = outs.iter().map(place).collect();
    let left = (0..names.len()).filter(|&i| !outs.contains(&names[i]));
    let order = order.map(|order| order.into_iter().chain(left).collect::<Vec<_>>());
    order.filter(|order| order.len() == names.len()).ok_or_else(|| {
        let (names, outs) = (names.join(", "), outs.join(", "));
        let more = if returns { ", and one more name is what it returns" } else { "" };
        format!(
            "{part} names {names}, where the out parameters are {outs}{more}; post: [..] gives results in their order"
        )
    })
}
