//! Requests and what they lead to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::{Client, Kernel, cell};

fn kinds(shown: &[super::client::Message]) -> Vec<&str> {
    shown.iter().map(|message| message.kind.as_str()).collect()
}

#[test]
fn a_cell_shows_its_value() {
    let (_kernel, client) = Kernel::start();
    let answer = client.run("print(\"a\"); print(\"b\"); 1 + 1");
    let expected = ["status", "execute_input", "stream", "execute_result", "status"];
    assert_eq!(kinds(&answer.shown), expected);
    assert_eq!(answer.stream("stdout"), "a\nb\n");
    assert_eq!(answer.result(), "2");
    assert_eq!(answer.reply["execution_count"], 1);
    assert_eq!(answer.reply["user_expressions"], json!({}));

    let answer = client.run("a = FloatC([1, 2]);");
    assert_eq!(kinds(&answer.shown), ["status", "execute_input", "status"]);
    let answer = client.run("a");
    let data = &answer.all("execute_result")[0]["data"];
    assert_eq!(data["text/plain"], "[1, 2]");
    let html = data["text/html"].as_str().unwrap();
    assert!(html.contains(">[1, 2]</pre>") && html.contains(">FloatC, 2 lanes, "), "{html}");
    assert_eq!(client.run("_").reply["execution_count"], 4);
    assert_eq!(client.run("[_1, Out[3]]").result(), "[2, [1, 2]]");
    let answer = client.run("%who\n6 * 7");
    assert_eq!(answer.result(), "42");
    assert!(answer.stream("stdout").contains('a'));
    let answer = client.run("%%time\nb = 20\nb + 1");
    assert_eq!(answer.result(), "21");
    assert!(answer.stream("stdout").contains("record"), "{answer:?}");
}

#[test]
fn silent_cells_leave_no_trace() {
    let (_kernel, client) = Kernel::start();
    let mut silent = cell("x = 5; print(x); x");
    silent["silent"] = true.into();
    let answer = client.ask("execute_request", &silent);
    assert_eq!(kinds(&answer.shown), ["status", "status"]);
    let mut unstored = cell("x");
    unstored["store_history"] = false.into();
    assert_eq!(client.ask("execute_request", &unstored).result(), "5");
    assert_eq!(client.run("x + 1").reply["execution_count"], 1);
    let history = client.ask("history_request", &json!({"hist_access_type": "tail", "n": 9}));
    assert_eq!(history.reply["history"], json!([[1, 1, "x + 1"]]));
}

#[test]
fn an_error_is_shown_once_and_names_its_cell() {
    let (_kernel, client) = Kernel::start();
    client.run("fn half(x) {\n    x / nothing\n}");
    let answer = client.run("half(3)");
    assert_eq!(kinds(&answer.shown), ["status", "execute_input", "error", "status"]);
    let error = answer.all("error")[0];
    assert_eq!(
        (&error["ename"], &answer.reply["status"]),
        (&json!("RuntimeError"), &json!("error"))
    );
    for field in ["ename", "evalue", "traceback"] {
        assert_eq!(error[field], answer.reply[field]);
    }
    let lines: Vec<&str> =
        error["traceback"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let text = lines.join("\n");
    assert!(text.contains("In[1]:2:9") && text.contains("In[2]:1"), "{text}");
    assert!(
        text.starts_with("\x1b[1m\x1b[1mRuntimeError\x1b[0m\x1b[1m: `nothing` is not"),
        "{text}"
    );
    let style = |part: &str| part.split('m').next().map(String::from);
    assert!(text.split("\x1b[").skip(1).all(|part| ["0", "1"].contains(&&*style(part).unwrap())));
    assert_eq!(client.run("let = 1").all("error")[0]["ename"], "SyntaxError");
    assert_eq!(client.run("1").result(), "1");
}

#[test]
fn cells_sent_before_an_error_are_not_run() {
    let (_kernel, client) = Kernel::start();
    let send = |code: &str| client.send(&client.shell, "execute_request", &cell(code));
    // It fails once the others are there: nothing waits for what comes later.
    let ids = [send("x = 1"), send("sleep(0.5); throw \"no\""), send("x = 2"), send("x = 3")];
    let status = ids.map(|id| client.answer(&id).reply["status"].clone());
    assert_eq!(json!(status), json!(["ok", "error", "aborted", "aborted"]));
    let shown = client.run("x");
    assert_eq!((shown.result(), &shown.reply["execution_count"]), ("1", &json!(3)));
    let mut going_on = cell("throw \"no\"");
    going_on["stop_on_error"] = false.into();
    let ids = [client.send(&client.shell, "execute_request", &going_on), send("x = 4")];
    let status = ids.map(|id| client.answer(&id).reply["status"].clone());
    assert_eq!(json!(status), json!(["error", "ok"]));
}

#[test]
fn a_cell_without_a_text_is_an_error() {
    let (_kernel, client) = Kernel::start();
    for content in [json!({}), json!({"code": 5}), json!({"code": null, "silent": true})] {
        let answer = client.ask("execute_request", &content);
        assert_eq!(answer.reply["status"], "error", "{content}");
        let why = "execute_request: `code` is missing or no text";
        assert_eq!(answer.reply["evalue"], why, "{content}");
    }
    assert_eq!(client.run("").reply["status"], "ok");
    assert_eq!(client.run("1 + 1").reply["execution_count"], 1);
}

/// Whoever has seen an error may go on, even before its reply has come.
#[test]
fn cells_sent_after_an_error_are_run() {
    let (_kernel, client) = Kernel::start();
    for _ in 0..20 {
        let failed = client.send(&client.shell, "execute_request", &cell("nothing"));
        while client.shown_next().expect("no error is shown").kind != "error" {}
        let next = client.send(&client.shell, "execute_request", &cell("6 * 7"));
        let status = [&failed, &next].map(|id| client.reply(id)["status"].clone());
        assert_eq!(json!(status), json!(["error", "ok"]));
    }
}

#[test]
fn user_expressions_are_values_beside_the_cell() {
    let (_kernel, client) = Kernel::start();
    let mut request = cell("a = 20");
    request["user_expressions"] = json!({"twice": "2 * a", "wrong": "b"});
    let values = &client.ask("execute_request", &request).reply["user_expressions"];
    assert_eq!(values["twice"]["data"]["text/plain"], "40");
    assert_eq!(values["wrong"]["status"], "error");
    assert_eq!(values["wrong"]["evalue"], "`b` is not defined");
}

#[test]
fn displays_are_named_and_replaced() {
    let (_kernel, client) = Kernel::start();
    let answer = client.run(
        "display(FloatC([1, 2])); display(\"0 %\", \"progress\");
         update_display(\"50 %\", \"progress\"); clear_output(true)",
    );
    let [array, named] = answer.all("display_data")[..] else { panic!("{answer:?}") };
    assert_eq!(array["data"]["text/plain"], "[1, 2]");
    assert!(array["data"]["text/html"].is_string());
    assert_eq!(array["transient"], json!({}));
    assert_eq!(named["transient"]["display_id"], "progress");
    let update = answer.all("update_display_data")[0];
    assert_eq!(update["data"], json!({"text/plain": "50 %"}));
    assert_eq!(update["transient"]["display_id"], "progress");
    assert_eq!(answer.all("clear_output"), [&json!({"wait": true})]);
    let error = client.run("display(1, 2)");
    assert_eq!(error.reply["evalue"], "display: got an integer, expected a text such as \"a\"");
}

#[test]
fn tables_are_html_too() {
    let (_kernel, client) = Kernel::start();
    let answer = client.run("a = FloatC([1, 2]); set_label(a, \"<a>\"); whos()");
    let data = &answer.all("display_data")[0]["data"];
    assert!(data["text/plain"].as_str().unwrap().contains("Memory usage (ready)"));
    let html = data["text/html"].as_str().unwrap();
    assert!(html.contains("<td>&lt;a&gt;</td>") && html.contains("Memory usage"), "{html}");
    let answer = client.run("eval(a + 1); kernel_history()");
    let html = &answer.all("execute_result")[0]["data"]["text/html"];
    assert!(html.as_str().unwrap().contains("<th>operations</th>"));
}

#[test]
fn listings_are_folded_and_graphs_drawn() {
    let (_kernel, client) = Kernel::start();
    client.run("y = FloatC([1, 2]) + 1; p = ptx(y);");
    let shown = |code: &str| client.run(code).all("execute_result")[0]["data"].clone();
    for code in ["ptx(y)", "p", "ir(y)", "asm(y)"] {
        let data = shown(code);
        let html = data["text/html"].as_str().unwrap();
        assert!(html.starts_with("<details") && html.contains("color: var("), "{html}");
        assert!(!data["text/plain"].as_str().unwrap().contains("<span"));
    }
    let html = shown("explain(y)")["text/html"].clone();
    assert!(html.as_str().unwrap().contains("<th>kernel 0</th><td>n=2</td>"), "{html}");
    assert!(svg(&shown("graphviz(y)")).contains("literal 1.0"));
    assert_eq!(shown("p + \"\""), json!({"text/plain": shown("p")["text/plain"]}));
}

#[test]
fn pictures_are_drawn() {
    let (_kernel, client) = Kernel::start();
    client.run("x = FloatC::linspace(0, 6, 100);");
    for (code, drawn, said) in [
        ("plot(x, sin(x))", "<polyline", "chart: a line of 100 points; x from 0 to 6"),
        ("hist(sin(x))", "<polygon", "chart: "),
        ("image(x, 10, 10)", "data:image/png;base64,", "an image, 10 x 10"),
    ] {
        let data = client.run(code).all("execute_result")[0]["data"].clone();
        let svg = svg(&data);
        assert!(svg.starts_with("<svg") && svg.contains(drawn), "{code}: {svg}");
        assert!(
            data["text/html"].as_str().unwrap().contains(&format!("\" alt=\"{said}")),
            "{code}"
        );
        let png = STANDARD.decode(data["image/png"].as_str().unwrap()).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{code}");
        // Inkscape would be needed to print it.
        assert!(data["image/svg+xml"].is_null(), "{code}");
        assert!(data["text/plain"].as_str().unwrap().lines().count() > 2, "{code}");
        let answer = client.run(&format!("display({code})"));
        assert_eq!(answer.all("display_data")[0]["data"], data, "{code}");
    }
}

#[test]
fn the_history_survives_a_restart() {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("history");
    drop(std::fs::remove_dir_all(&place));
    std::fs::create_dir_all(&place).unwrap();
    for (session, all) in
        [(1, json!([[1, 1, "6 * 7"]])), (2, json!([[1, 1, "6 * 7"], [2, 1, "6 * 7"]]))]
    {
        let (_kernel, client) = Kernel::start_in(&place);
        client.run("6 * 7");
        let history = client.ask("history_request", &json!({"hist_access_type": "tail", "n": 9}));
        assert_eq!(history.reply["history"], all, "{session}");
    }
    let (_kernel, client) = Kernel::start_with("ipc", &["--sandbox"]);
    client.run("6 * 7");
    let history = client.ask("history_request", &json!({"hist_access_type": "tail", "n": 9}));
    assert_eq!(history.reply["history"], json!([[1, 1, "6 * 7"]]));
}

#[test]
fn what_fits_is_offered_most_used_first() {
    let (_kernel, client) = Kernel::start();
    client.run("a = FloatC([1, 2]); v = Vector2fC(1, 2);");
    let offered = |code: &str| {
        let asked = json!({"code": code, "cursor_pos": code.len()});
        let reply = client.ask("complete_request", &asked).reply;
        serde_json::from_value::<Vec<String>>(reply["matches"].clone()).unwrap()
    };
    let (array, vector) = (offered("a."), offered("v."));
    let place = |name: &str| array.iter().position(|known| known == name);
    assert!(place("sqrt") < place("erfinv") && place("sin").is_some_and(|i| i < 12), "{array:?}");
    for other in ["det", "transpose", "quat_to_euler", "cross", "count", "popcnt"] {
        assert_eq!(place(other), None, "{other}");
    }
    assert_eq!(vector[..2], ["x", "y"]);
    assert!(vector.contains(&"cross".into()), "{vector:?}");
}

/// The document of a picture.
fn svg(data: &Value) -> String {
    let html = data["text/html"].as_str().unwrap();
    let document = html.split("base64,").nth(1).unwrap().split('"').next().unwrap();
    String::from_utf8(STANDARD.decode(document).unwrap()).unwrap()
}

/// Of what is long a page shows both ends; what a script makes of it stays whole.
#[test]
fn nothing_floods_a_page() {
    let (_kernel, client) = Kernel::start();
    client.run("x = FloatC([1]); for i in 0..2500 { x = x * i + 1 }");
    for (code, told) in [
        ("FloatC::arange(10000)", ".. 9990 skipped .."),
        ("range(10000).map(|i| i)", ".. 9990 skipped .."),
        ("range(40).map(|i| range(40).map(|j| #{i: i, l: [j]}))", ".. 30 skipped .."),
        ("let s = \"\"; s.pad(100000, 'x'); s", ".. 90000 characters skipped .."),
        ("[s, s]", " characters skipped .."),
        ("blob(1000000, 7)", " characters skipped .."),
        ("let m = #{}; for i in 0..5000 { m[`k${i}`] = i } m", ".. 4990 skipped .."),
        ("ir(x)", " lines skipped, print shows all .."),
        ("graphviz(x)", " lines skipped, print shows all .."),
    ] {
        let data = client.run(code).all("execute_result")[0]["data"].clone();
        let text = data["text/plain"].as_str().unwrap();
        assert!(text.contains(told) && text.len() < 200_000, "{code}: {text}");
        let bytes: usize = data.as_object().unwrap().values().map(|v| v.to_string().len()).sum();
        assert!(bytes < 1_500_000, "{code}: {bytes}");
    }
    assert!(svg(&client.run("graphviz(x)").all("execute_result")[0]["data"]).contains(" more<"));
    assert_eq!(client.run("print(range(2000).map(|i| i))").stream("stdout").len(), 10891);
}

#[test]
fn html_and_markdown_are_drawn() {
    let code = "display_html(\"<b>x</b>\"); display_markdown(\"*x*\")";
    for (settings, drawn) in [(&[][..], true), (&["--sandbox"], false)] {
        let (_kernel, client) = Kernel::start_with("ipc", settings);
        let answer = client.run(code);
        let data: Vec<&Value> = answer.all("display_data").iter().map(|m| &m["data"]).collect();
        let [html, markdown] = data[..] else { panic!("{answer:?}") };
        assert_eq!(
            (&html["text/plain"], &markdown["text/plain"]),
            (&json!("<b>x</b>"), &json!("*x*"))
        );
        assert_eq!(html["text/html"] == "<b>x</b>", drawn, "{html}");
        assert_eq!(markdown["text/markdown"] == "*x*", drawn, "{markdown}");
    }
}

/// A bar appears after a second, is replaced, and vanishes; each loop has its own.
#[test]
fn progress_is_a_display_that_is_replaced() {
    let (_kernel, client) = Kernel::start();
    let mut names = Vec::new();
    for _ in 0..2 {
        let answer = client.run("for i in progress(range(4)) { sleep(0.4) }");
        let bar = answer.all("display_data");
        assert_eq!(bar.len(), 1, "{answer:?}");
        assert!(bar[0]["data"]["text/plain"].as_str().unwrap().contains(" s left"), "{bar:?}");
        let last = *answer.all("update_display_data").last().unwrap();
        assert_eq!(last["data"], json!({"text/plain": "", "text/html": ""}));
        assert_eq!(last["transient"], bar[0]["transient"]);
        names.push(last["transient"]["display_id"].clone());
    }
    assert_ne!(names[0], names[1]);
    assert!(client.run("for i in progress(range(4)) { }").all("display_data").is_empty());
}

#[test]
fn what_tools_ask_leaves_the_last_value() {
    let (_kernel, client) = Kernel::start();
    let mut asked = cell("6 * 7");
    asked["user_expressions"] = json!({"a": "1 + 1", "b": "nothing"});
    let answer = client.ask("execute_request", &asked);
    let values = &answer.reply["user_expressions"];
    assert_eq!(values["a"]["data"]["text/plain"], "2");
    assert_eq!(values["b"]["status"], "error");
    let mut silent = cell("3");
    silent["silent"] = true.into();
    client.ask("execute_request", &silent);
    assert_eq!(client.run("_").result(), "42");
    let (_kernel, client) = Kernel::start();
    client.ask("execute_request", &silent);
    assert_eq!(client.run("_").reply["status"], "error");
}

#[test]
fn the_log_is_a_listing() {
    let (_kernel, client) = Kernel::start();
    let answer =
        client.run("set_log_level(4); a = FloatC([1, 2]) + 1; print(a); sleep(0.5); b = a * 3;");
    assert_eq!((answer.stream("stdout"), answer.stream("stderr")), ("[2, 3]\n".into(), "".into()));
    let [first, second] = answer.all("display_data")[..] else { panic!("{answer:?}") };
    let text = first["data"]["text/plain"].as_str().unwrap();
    assert!(text.starts_with("trace_append(10): ") && text.contains("launching"), "{text}");
    let html = first["data"]["text/html"].as_str().unwrap();
    assert!(
        html.starts_with("<details open><summary>log, ") && html.contains("var(--jp"),
        "{html}"
    );
    assert!(second["data"]["text/plain"].as_str().unwrap().contains("mul.rn"), "{second}");
    // One listing, as long as nothing else is shown.
    let answer = client.run("for i in 2..5 { a = a * i; sleep(0.3) }");
    assert_eq!(answer.all("display_data").len(), 1);
    let last = *answer.all("update_display_data").last().unwrap();
    assert_eq!(last["data"]["text/plain"].as_str().unwrap().matches("mul.rn").count(), 3);
    let answer = client.run("set_log_level(0); eprint(\"beside\", 1)");
    assert_eq!(answer.stream("stderr"), "beside 1\n");
}

#[test]
fn questions_go_to_the_client() {
    let (_kernel, client) = Kernel::start();
    let id = client.send(&client.shell, "execute_request", &cell("n = input(\"n? \"); n + \"!\""));
    let question = Client::receive(&client.stdin).unwrap();
    assert_eq!(question.kind, "input_request");
    assert_eq!(question.content, json!({"prompt": "n? ", "password": false}));
    client.send(&client.stdin, "input_reply", &json!({"status": "ok", "value": "ä"}));
    assert_eq!(client.answer(&id).result(), "ä!");
    // An answer that nobody waits for is not that to the next question.
    client.send(&client.stdin, "input_reply", &json!({"value": "stale"}));
    client.run("sleep(0.05)");
    let id = client.send(&client.shell, "execute_request", &cell("password(\"secret? \")"));
    assert_eq!(Client::receive(&client.stdin).unwrap().content["password"], true);
    client.send(&client.stdin, "input_reply", &json!({"value": "fresh"}));
    assert_eq!(client.answer(&id).result(), "fresh");
    let mut alone = cell("input(\"?\")");
    alone["allow_stdin"] = false.into();
    let answer = client.ask("execute_request", &alone);
    assert!(answer.reply["evalue"].as_str().unwrap().contains("takes no questions"), "{answer:?}");
}

#[test]
fn editors_are_answered() {
    let (_kernel, client) = Kernel::start();
    client.run("apples = 2");
    let complete = |code: &str, cursor: Value| {
        client.ask("complete_request", &json!({"code": code, "cursor_pos": cursor})).reply
    };
    let reply = complete("\"ü\" + app + 1", json!(9));
    assert!(reply["matches"].as_array().unwrap().contains(&json!("apples")), "{reply}");
    assert_eq!((&reply["cursor_start"], &reply["cursor_end"]), (&json!(6), &json!(9)));
    assert!(
        complete("appl", Value::Null)["matches"].as_array().unwrap().contains(&json!("apples"))
    );
    let inspect = |code: &str, cursor: usize| {
        client.ask("inspect_request", &json!({"code": code, "cursor_pos": cursor})).reply
    };
    let reply = inspect("gather(apples, 0)", 2);
    assert_eq!(reply["found"], true);
    assert!(reply["data"]["text/plain"].as_str().unwrap().starts_with("gather("), "{reply}");
    assert_eq!(inspect("no_such_name", 3)["found"], false);
    client.run("fn twice(x) { 2 * x }");
    let more = json!({"code": "twice", "cursor_pos": 5, "detail_level": 1});
    let source = client.ask("inspect_request", &more).reply["data"]["text/plain"].to_string();
    assert!(source.contains("fn twice(x) { 2 * x }"), "{source}");
    let is_complete = |code: &str| {
        client.ask("is_complete_request", &json!({"code": code})).reply["status"].clone()
    };
    assert_eq!(is_complete("1 + 1"), "complete");
    assert_eq!(is_complete("fn f() {"), "incomplete");
    assert_eq!(is_complete("while true"), "incomplete");
    assert_eq!(is_complete("1 1"), "invalid");
    let answer = client.run("?gather");
    let page = &answer.reply["payload"][0];
    assert_eq!(page["source"], "page");
    assert!(page["data"]["text/plain"].as_str().unwrap().starts_with("gather("));
}

#[test]
fn a_file_becomes_the_next_cell() {
    let (_kernel, client) = Kernel::start();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("next.rhai");
    std::fs::write(&file, "a = 1;\na + 1\n").unwrap();
    let answer = client.run(&format!("%load {}", file.display()));
    let next = json!({"source": "set_next_input", "text": "a = 1;\na + 1", "replace": false});
    assert_eq!(answer.reply["payload"], json!([next]));
}

#[test]
fn every_request_has_its_busy_and_idle() {
    let (kernel, client) = Kernel::start();
    for kind in ["kernel_info_request", "comm_info_request", "history_request"] {
        let answer = client.ask(kind, &json!({}));
        assert_eq!(kinds(&answer.shown), ["status", "status"]);
        assert_eq!(answer.reply["status"], "ok", "{kind}");
    }
    let id = client.send(&client.shell, "comm_open", &json!({"comm_id": "c", "target_name": "t"}));
    assert_eq!(kinds(&client.shown(&id)), ["status", "comm_close", "status"]);
    let id = client.send(&client.shell, "no_such_request", &json!({}));
    assert_eq!(kinds(&client.shown(&id)), ["status", "status"]);
    let id = client.send(&client.control, "kernel_info_request", &json!({}));
    assert_eq!(kinds(&client.shown(&id)), ["status", "status"]);
    let info = Client::receive(&client.control).unwrap().content;
    assert_eq!(info["language_info"]["file_extension"], ".rhai");
    let usage = client.command("usage_request", &json!({}));
    assert_eq!(usage["pid"], kernel.process.id());
    assert!(usage["kernel_memory"].is_u64() && usage["kernel_cpu"].is_number(), "{usage}");
}

#[test]
fn truth_values_are_words_in_all_forms() {
    let (_kernel, client) = Kernel::start();
    let answer = client.run("FloatC([1, 2]) > 1");
    assert_eq!(answer.result(), "[false, true]");
    let html = &answer.all("execute_result")[0]["data"]["text/html"];
    assert!(html.as_str().unwrap().contains("[false, true]"), "{html}");
}

#[test]
fn pictures_come_in_the_forms_that_a_page_needs() {
    let (_kernel, client) = Kernel::start();
    let kinds = |code: &str| {
        let answer = client.run(code);
        let data = answer.all("execute_result")[0]["data"].as_object().unwrap().clone();
        let mut kinds: Vec<String> = data.keys().cloned().collect();
        kinds.sort();
        kinds
    };
    let small = ["image/png", "text/html", "text/plain"];
    assert_eq!(kinds("x = FloatC::linspace(0, 6, 100); plot(x, sin(x))"), small);
    assert_eq!(kinds("image(rand(4000000), 2000, 2000)"), ["image/png", "text/plain"]);
    assert_eq!(kinds("scatter_plot(rand(100000), rand(100000))"), ["image/png", "text/plain"]);
    let pair = "[plot(x), plot(x, cos(x))]";
    assert_eq!(kinds(pair), ["text/html", "text/plain"]);
    let html = &client.run(pair).all("execute_result")[0]["data"]["text/html"].to_string();
    assert_eq!(html.matches("<img ").count(), 2);
}
