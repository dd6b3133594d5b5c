// A notebook in JupyterLab, in a browser without a window: run, complete, look up, interrupt, answer, restart.
// node scenario.mjs URL TOKEN SCREENSHOTS; needs playwright-core and Chromium.

import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [url, token, screenshots] = process.argv.slice(2);
const notebook = "scenario.ipynb";
mkdirSync(screenshots, { recursive: true });

const cells = [
    "a = FloatC::linspace(0, 1, 5); b = tanh(a) * 2 + 1; b",
    "whos()",
    "ptx(a + 1)",
    "graphviz(FloatC([1, 2]) + 1)",
    "nothing + 1",
    'name = input("name? "); "hello " + name',
];
const cell = (source) => ({ cell_type: "code", source, metadata: {}, outputs: [], execution_count: null });
const contents = {
    type: "notebook",
    format: "json",
    content: {
        cells: cells.map(cell),
        metadata: { kernelspec: { name: "porcini", display_name: "Porcini", language: "rhai" } },
        nbformat: 4,
        nbformat_minor: 4,
    },
};
const headers = { Authorization: `token ${token}`, "Content-Type": "application/json" };
const made = await fetch(`${url}/api/contents/${notebook}`, { method: "PUT", headers, body: JSON.stringify(contents) });
if (!made.ok) throw new Error(`the notebook cannot be made: ${made.status}`);

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
const seconds = 1000;
let n = 0;
const shot = (name) => page.screenshot({ path: `${screenshots}/${++n}-${name}.png` });
const idle = () => page.getByText("Porcini | Idle").first().waitFor({ timeout: 60 * seconds });
const codeCell = (i) => page.locator(".jp-Notebook .jp-CodeCell").nth(i);
const output = (i) => codeCell(i).locator(".jp-OutputArea-output");
const shows = (i, text, time = 30) =>
    output(i).filter({ hasText: text }).first().waitFor({ timeout: time * seconds });

/// Puts text into a cell, replacing what was there.
async function type(i, text) {
    await codeCell(i).locator(".cm-content").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(text);
}
const run = () => page.keyboard.press("Control+Enter");

await page.goto(`${url}/lab/tree/${notebook}?token=${token}`);
await idle();

const passed = [];
async function step(name, work) {
    try {
        await work();
    } catch (error) {
        await shot(`failed-${name.replaceAll(" ", "-")}`);
        throw new Error(`${name}: ${error.message}`);
    }
    passed.push(name);
    console.log(`ok: ${name}`);
}

await step("all cells run up to an error", async () => {
    await codeCell(0).locator(".cm-content").click();
    await page.getByRole("menuitem", { name: "Run" }).first().click();
    await page.getByText("Run All Cells", { exact: true }).click();
    await shows(0, "2.52319");
    await shows(1, "Memory usage");
    await shows(2, "PTX");
    await output(3).locator("svg, img").first().waitFor({ timeout: 30 * seconds });
    await shows(4, "`nothing` is not defined");
    await idle();
    // The cell behind the error did not run: nobody is asked.
    if (await page.locator(".jp-Stdin-input").count()) throw new Error("the queue went on after an error");
    // Nor has it a number.
    await codeCell(5).locator(".jp-InputPrompt", { hasText: "[ ]:" }).waitFor({ timeout: 20 * seconds });
    await shot("run-all");
});
await step("a listing unfolds", async () => {
    await output(2).locator("summary").click();
    await output(2).getByText("ld.param").first().waitFor({ timeout: 20 * seconds });
    await shot("unfolded");
    await output(2).locator("summary").click();
});
await step("pictures are drawn", async () => {
    await type(4, "x = FloatC::linspace(0, 6, 100); display(plot(x, sin(x))); display(hist(sin(x))); explain(cos(x))");
    await run();
    await output(4).nth(1).locator("svg, img").waitFor({ timeout: 20 * seconds });
    await shows(4, "kernel 0");
    await shot("pictures");
});
await step("keywords are coloured", async () => {
    await type(4, "let x = 1;");
    const keyword = codeCell(4).locator(".cm-line span", { hasText: /^let$/ }).first();
    await keyword.waitFor({ timeout: 20 * seconds });
});
await step("completion offers names", async () => {
    await type(4, "kernel_hist");
    await page.keyboard.press("Tab");
    const offered = page.locator(".jp-Completer-item", { hasText: "kernel_history_clear" });
    await offered.first().waitFor({ timeout: 20 * seconds });
    await shot("completion");
    await page.keyboard.press("Escape");
});
await step("a tooltip explains", async () => {
    await type(4, "gather(");
    await page.keyboard.press("Shift+Tab");
    await page.locator(".jp-Tooltip", { hasText: "gather(" }).first().waitFor({ timeout: 20 * seconds });
    await shot("tooltip");
    await page.keyboard.press("Escape");
});
for (const work of ["loop {}", "while_loop([a], |a| a > -1, |a| [a + 1])"]) {
    await step(`an interrupt ends ${work}`, async () => {
        await type(4, `print("begins"); ${work}`);
        await run();
        await shows(4, "begins");
        await page.waitForTimeout(300);
        await page.getByRole("button", { name: /interrupt the kernel/i }).first().click();
        await shows(4, "Interrupted", 10);
        await type(4, "hsum(a)[0] * 2");
        await run();
        await shows(4, "5");
    });
}
await shot("interrupted");
await step("a question is answered", async () => {
    await codeCell(5).locator(".cm-content").click();
    await run();
    const question = page.locator(".jp-Stdin-input").first();
    await question.waitFor({ timeout: 20 * seconds });
    await question.fill("porcini");
    await question.press("Enter");
    await shows(5, "hello porcini");
    await shot("answered");
});
await step("nothing is lost in the dark", async () => {
    await page.getByRole("menuitem", { name: "Settings" }).first().click();
    await page.getByText("Theme", { exact: true }).first().hover();
    await page.getByText("JupyterLab Dark", { exact: true }).click();
    await page.locator("body[data-jp-theme-light=false]").waitFor({ state: "attached", timeout: 20 * seconds });
    await shot("dark");
});
await step("output is replaced", async () => {
    await type(4, 'display("0 %", "p"); for i in 1..101 { update_display(i + " %", "p") }');
    await run();
    await shows(4, "100 %");
});
await step("a bar leaves nothing behind", async () => {
    await type(4, "for i in progress(range(4)) { sleep(0.6) } 6 * 7");
    await run();
    await shows(4, "2 of 4");
    await shot("bar");
    await shows(4, "42");
    const bar = await codeCell(4).locator(".jp-OutputArea-child").first().boundingBox();
    if (bar.height > 2) throw new Error(`a line of ${bar.height} pixels is left`);
});
await step("the log folds", async () => {
    await type(4, "set_log_level(4); c = a * 3 + 1; set_log_level(0)");
    await run();
    await shows(4, "log, ");
    await output(4).locator("summary").click();
    await shot("log");
});
await step("much output arrives", async () => {
    await type(4, "for i in 0..3000 { print(`line ${i}`) }");
    await run();
    await shows(4, "line 2999", 15);
});
await step("a restart forgets", async () => {
    await page.getByRole("menuitem", { name: "Kernel" }).first().click();
    await page.getByText("Restart Kernel…", { exact: true }).click();
    await page.locator(".jp-Dialog-button.jp-mod-warn, .jp-Dialog-button.jp-mod-accept").last().click();
    await page.waitForTimeout(1000);
    await idle();
    await type(4, "a");
    await run();
    await shows(4, "`a` is not defined");
    await shot("restarted");
});
await browser.close();
console.log(`${passed.length} steps passed`);
