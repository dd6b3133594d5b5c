//! What a misspelt name may have meant.

/// Names suggested for a misspelt one.
const MOST_SUGGESTIONS: usize = 3;
/// Letters of a name that are compared: longer ones are no slips of known ones, and comparing them takes long.
const MOST_LETTERS: usize = 64;
/// How names of Cengine's classes end; its operations are called without it.
const CLASS: &str = "_op";

/// The known names nearest to a misspelt one.
pub fn similar(name: &str, known: impl Iterator<Item = impl AsRef<str>>) -> Vec<String> {
    if name.len() > MOST_LETTERS {
        return Vec::new();
    }
    let operation = name.strip_suffix(CLASS);
    let lower = operation.unwrap_or(name).to_lowercase();
    // Short names are near to everything: one slip in up to five letters, two in longer ones.
    let limit = if lower.chars().count() <= 5 { 1 } else { 2 };
    let mut found: Vec<(usize, String)> = known
        .filter(|candidate| candidate.as_ref().len() <= MOST_LETTERS)
        .filter_map(|candidate| {
            let candidate = candidate.as_ref();
            let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
            let [own, other] = [candidate.chars().count(), lower.chars().count()];
            // Of two letters another one is another name: `x1` is no slip of `j1`.
            let near =
                distance <= limit && distance < own.min(other) && 2 * distance < own.max(other);
            near.then(|| (distance, candidate.to_string()))
        })
        .collect();
    found.sort();
    found.dedup();
    if operation.is_some() && matches!(found[..], [(0, _), ..]) {
        found.truncate(1);
    }
    found.into_iter().take(MOST_SUGGESTIONS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_nearest_first() {
        let known = ["sin", "sinh", "cos", "sign", "FloatC"];
        assert_eq!(similar("sine", known.iter()), ["sin", "sinh"]);
        assert_eq!(similar("flaotC", known.iter()), ["FloatC"]);
        assert!(similar("zzz", known.iter()).is_empty());
        assert!(similar("x1", ["i1", "j1"].iter()).is_empty());
        assert_eq!(similar("sn", known.iter()), ["sin"]);
        assert_eq!(similar("sin_op", known.iter()), ["sin"]);
        let long = "a".repeat(100_000);
        assert!(similar(&long, std::iter::once(format!("{long}b"))).is_empty());
    }
}
