//! What the kernel says about itself.

use serde_json::{Value, json};

use crate::wire::PROTOCOL;

/// Name of the language, as notebooks store it.
pub(crate) const LANGUAGE: &str = "rhai";

/// The content of `kernel_info_reply`.
pub(crate) fn kernel_info() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL,
        "implementation": "porcini",
        "implementation_version": version,
        "language_info": {
            "name": LANGUAGE,
            "version": version,
            "mimetype": "text/x-rhai",
            "file_extension": ".rhai",
            // JupyterLab knows no Rhai; Rust is what it looks like.
            "codemirror_mode": "rust",
            // In our Python package.
            "pygments_lexer": "rhai",
            "nbconvert_exporter": "script",
        },
        "banner": format!(
            "Porcini {version}: array scripting, recorded, fused, compiled at once. help() shows what there is."
        ),
        "help_links": [
            {"text": "Porcini", "url": env!("CARGO_PKG_REPOSITORY")},
            {"text": "The Rhai Book", "url": "https://rhai.rs/book"},
        ],
        "debugger": false,
        "supported_features": [],
    })
}
