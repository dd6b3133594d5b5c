//! Settings of a person: `config.toml` and `init.rhai` in `$XDG_CONFIG_HOME/porcini`, or `~/.config/porcini`.

use std::io;
use std::path::{Path, PathBuf};

use porcini_script::{folders, visible};
use serde::Deserialize;
use toml::Table;
use toml::de::Error as Wrong;

/// What `config.toml` may say; what is left out stays as it is without the file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Keys of the line editor.
    pub(crate) edit_mode: Option<EditMode>,
    /// What stands before a cell.
    pub(crate) prompt: Option<PromptStyle>,
    /// Suggestions from the history behind what is typed.
    pub(crate) hints: Option<bool>,
    /// Colour: `auto` where a terminal wants it.
    pub(crate) colour: Option<Colour>,
    /// Where kernels run: `auto`, `cpu`, `cuda`, `cuda:1`.
    pub(crate) device: Option<String>,
    /// Threads that run kernels.
    pub(crate) threads: Option<u16>,
    /// What is logged, 0 to 5.
    pub(crate) log_level: Option<u8>,
}

/// Keys of the line editor.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EditMode {
    /// Those of Emacs, which most shells have.
    Emacs,
    /// Those of vi.
    Vi,
}

/// What stands before a cell.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PromptStyle {
    /// `>>> `.
    Plain,
    /// The number of the cell, `In [3]: `, and before its value `Out[3]: `.
    Numbered,
}

/// When colour is used.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Colour {
    /// On terminals, unless the environment says otherwise.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl Settings {
    /// The settings of a file, none of an absent one, and what is wrong with it: what is right of it holds.
    pub(crate) fn read(file: &Path) -> (Self, Vec<String>) {
        let read = text(file).map_err(|error| error.to_string());
        let read = read.and_then(|text| {
            let wrong = |error: Wrong| format!("{}{}", place(&text, &error), told(&error));
            text.parse().map_err(wrong)
        });
        let (settings, wrong) = read
            .map(Self::of_table)
            .unwrap_or_else(|what| (Self::default(), vec![format!("is ignored: {what}")]));
        (settings, wrong.into_iter().map(|what| format!("{} {what}", file.display())).collect())
    }

    fn of_table(table: Table) -> (Self, Vec<String>) {
        let mut wrong = Vec::new();
        let mut right = table.clone();
        for (key, value) in table {
            let alone = Table::from_iter([(key.clone(), value)]);
            if let Err(error) = alone.try_into::<Self>() {
                wrong.push(format!("holds but for {}: {}", short(&key), told(&error)));
                right.remove(&key);
            }
        }
        // Each was read by itself.
        (right.try_into().unwrap_or_default(), wrong)
    }
}

/// Letters of a text of the file that are shown, at most.
const SHOWN: usize = 200;

/// What is wrong, which may name what stands in the file.
fn told(error: &Wrong) -> String {
    short(&error.message().replace('\n', " "))
}

/// A text of the file, which gives a terminal no orders, and is no longer than somebody reads.
fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ..", visible(&text[..end])),
        None => visible(text).into(),
    }
}

/// Where something is wrong: `line 3: `.
fn place(text: &str, error: &Wrong) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or_else(String::new, |before| format!("line {}: ", before.matches('\n').count() + 1))
}

/// The text of a file; none of an absent one. A pipe, of which nobody knows when it ends, is not read.
pub(crate) fn text(file: &Path) -> io::Result<String> {
    match std::fs::metadata(file) {
        Ok(about) if about.is_file() => std::fs::read_to_string(file),
        Ok(_) => Err(io::Error::other("not a plain file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// The settings file.
pub(crate) fn config_file() -> Option<PathBuf> {
    Some(folders::own("XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

/// The script that each shell runs first.
pub(crate) fn init_file() -> Option<PathBuf> {
    Some(folders::own("XDG_CONFIG_HOME", ".config")?.join("init.rhai"))
}

/// The history of the shell; none without a home. The folder is made: a history should not be lost for want of one.
///
/// # Errors
/// It cannot be made; this says which.
pub(crate) fn history_file() -> Result<Option<PathBuf>, String> {
    let Some(folder) = folders::own("XDG_STATE_HOME", ".local/state") else { return Ok(None) };
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(Some(folder.join("history")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        let folder = std::env::temp_dir().join(format!("porcini-settings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config.toml");
        assert_eq!(Settings::read(&file), (Settings::default(), vec![]));
        std::fs::write(&file, "edit_mode = \"vi\"\nthreads = 3\ncolour = \"never\"\n").unwrap();
        let (settings, wrong) = Settings::read(&file);
        assert_eq!((settings.edit_mode, settings.threads), (Some(EditMode::Vi), Some(3)));
        assert_eq!((settings.colour, wrong), (Some(Colour::Never), vec![]));
        // What is wrong takes nothing else with it.
        std::fs::write(&file, "treads = 3\nhints = 1\nlog_level = 2\n").unwrap();
        let (settings, wrong) = Settings::read(&file);
        assert_eq!(settings, Settings { log_level: Some(2), ..Settings::default() });
        let wrong = wrong.join("\n");
        assert!(wrong.contains("treads") && wrong.contains("threads"), "{wrong}");
        assert!(wrong.contains("config.toml holds but for hints: "), "{wrong}");
        std::fs::write(&file, "threads = 3\nhints = = 1\n").unwrap();
        let (settings, wrong) = Settings::read(&file);
        assert_eq!((settings, wrong.len()), (Settings::default(), 1));
        assert!(wrong[0].contains("config.toml is ignored: "), "{wrong:?}");
        // What stands there gives a terminal no orders.
        let long = "x".repeat(3000);
        for text in [format!("hints = \x1b[31m{long}\n"), format!("\"\\u001b{long}\" = 1\n")] {
            std::fs::write(&file, format!("threads = 3\n{text}")).unwrap();
            let (_, wrong) = Settings::read(&file);
            let wrong = wrong.join("\n");
            assert!(wrong.len() < 1000 && !wrong.contains('\x1b'), "{wrong}");
        }
        let (settings, wrong) = Settings::read(&folder);
        assert_eq!(settings, Settings::default());
        assert!(wrong[0].ends_with("is ignored: not a plain file"), "{wrong:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
