//! Help texts: their examples are typed into fresh interpreters and must show what they say; `docs/reference.md`
//! is made from them.

use std::rc::Rc;

use porcini_script::{Example, FunctionDoc, Interpreter, TOPICS, on_engine_thread};
use porcini_tests::golden::{BASELINE, interpreter};
use porcini_tests::host::TestHost;

/// Functions still without a text or an example. It only shrinks.
const WITHOUT: [&str; 0] = [];

fn docs() -> Vec<FunctionDoc> {
    interpreter(Rc::default(), BASELINE, 0).functions().to_vec()
}

/// What typing `code` shows: printed lines, then the value or the first line of the error.
fn shown(interpreter: &mut Interpreter, host: &TestHost, code: &str) -> String {
    let result = interpreter.execute(code, "example");
    let mut lines: Vec<String> = host.take().into_iter().map(|line| line.text).collect();
    match result {
        Ok(outcome) => lines.extend(outcome.text),
        Err(error) => lines.push(format!("error: {}", error.message)),
    }
    lines.join("\n").trim_end().into()
}

#[test]
fn examples_show_what_they_say() {
    on_engine_thread(|| {
        let mut wrong = Vec::new();
        let topics = TOPICS.iter().map(|topic| (topic.names[0].to_string(), topic.examples()));
        let pages = docs().into_iter().map(|doc| (doc.name, doc.examples));
        for (name, examples) in pages.chain(topics) {
            let host = Rc::new(TestHost::default());
            let mut interpreter = interpreter(host.clone(), BASELINE, 0);
            for Example { code, shown: expected } in examples {
                let actual = shown(&mut interpreter, &host, &code);
                if actual != expected {
                    wrong.push(format!("help(\"{name}\")\n>> {code}\n{expected}\nshows\n{actual}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
    });
}

#[test]
fn every_name_has_a_text_and_an_example() {
    on_engine_thread(|| {
        let docs = docs();
        let lacking = |doc: &&FunctionDoc| {
            let shows = doc.examples.iter().any(|example| !example.shown.is_empty());
            doc.doc.is_empty() || !shows
        };
        let names: Vec<&str> = docs.iter().filter(lacking).map(|doc| doc.name.as_str()).collect();
        let new: Vec<&&str> = names.iter().filter(|name| !WITHOUT.contains(name)).collect();
        assert!(new.is_empty(), "no text, or no example with a result: {new:?}");
        let done: Vec<&&str> = WITHOUT.iter().filter(|name| !names.contains(name)).collect();
        assert!(done.is_empty(), "documented by now, take them off the list: {done:?}");
    });
}

#[test]
fn names_are_documented_once() {
    on_engine_thread(|| {
        let mut names: Vec<String> = docs().into_iter().map(|doc| doc.name).collect();
        names.sort();
        let twice: Vec<&[String]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    });
}

#[test]
fn the_reference_is_made_of_the_help_texts() {
    let path = porcini_tests::root().join("docs/reference.md");
    let actual = on_engine_thread(|| interpreter(Rc::default(), BASELINE, 0).reference());
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &actual).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == actual,
        "docs/reference.md is stale: UPDATE_EXPECT=1 cargo test -p porcini-tests --test it reference"
    );
}
