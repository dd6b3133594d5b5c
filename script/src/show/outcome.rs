//! What running a cell gave.

/// What running a cell gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The value of the last expression as text; `None` if there is none or a `;` follows it.
    pub text: Option<String>,
    /// MIME type and content of its further forms, for front ends that show them ([`Host::shows_forms`](crate::Host::shows_forms)).
    pub forms: Vec<(&'static str, String)>,
    /// Text to be put at the next prompt.
    pub next_input: Option<String>,
}
