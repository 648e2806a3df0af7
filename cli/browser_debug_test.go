package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// debuggedProgram has a chain of CFs, a picture, and a CF that waits for what never comes.
const debuggedProgram = `C++ sub start(name x) ${{ x = 1; $}}
C++ sub more(int v, name y) ${{ y = v + 1; $}}
C++ sub grid(name g) ${{
    double *p = g.create<double>(6 * 8);
    for (int i = 0; i < 6; i++) for (int k = 0; k < 8; k++) p[i * 8 + k] = i * k;
$}}
C++ sub show(int v, value g) ${{ std::printf("%d\n", v); $}}

sub main(int n)
{
    df x, g;

    start(x[0]);
    grid(g);
    for i = 0 .. n - 1
        cf turn[i]: more(x[i], x[i + 1]);
    show(x[n], g);
}
`

// debugged is a program that the page debugs.
type debugged struct {
	*exec.Cmd
	url   string // with a slash at the end
	out   strings.Builder
	err   *bufio.Scanner
	trace string
}

// debugged starts a program under the debugger of the page.
func (p *pages) debugged(t *testing.T, program string, args ...string) *debugged {
	t.Helper()
	cmd, _ := p.command(t, "debug", "--page", "--no-browser", "--insecure", "-q", "-n", "2", "-w", "1", "-o", "t",
		"prog.fa")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "prog.fa"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args, args...)
	d := &debugged{Cmd: cmd, trace: filepath.Join(cmd.Dir, "t")}
	cmd.Stdout, cmd.Stderr = &d.out, nil
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may be no more
	d.err = bufio.NewScanner(pipe)
	d.url, _, _ = strings.Cut(d.says(t, "whyslow: live at "), "?")
	return d
}

// says gives the rest of the next line of standard error that begins so.
func (d *debugged) says(t *testing.T, beginning string) string {
	t.Helper()
	var all []string
	for d.err.Scan() {
		if rest, ok := strings.CutPrefix(d.err.Text(), beginning); ok {
			return rest
		}
		all = append(all, d.err.Text())
	}
	t.Fatalf("it says %q, and never %q", all, beginning)
	return ""
}

// interrupt is Ctrl+C; it gives the exit code.
func (d *debugged) interrupt(t *testing.T) int {
	t.Helper()
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for d.err.Scan() {
		t.Log(d.err.Text())
	}
	_ = d.Wait() // the exit code tells
	return d.ProcessState.ExitCode()
}

// typed types a text into the field with a label, and presses Enter.
func (b *tab) typed(label, text string) {
	b.Helper()
	b.wait(`[...document.querySelectorAll("main form label")].some(e => e.textContent.trim() === %q)`, label)
	query[bool](b, `(() => {
		const label = [...document.querySelectorAll("main form label")].find(e => e.textContent.trim() === %q);
		const input = document.getElementById(label.htmlFor);
		input.value = %q;
		input.dispatchEvent(new Event("input", {bubbles: true}));
		input.form.requestSubmit();
		return true;
	})()`, label, text)
}

// presses clicks a button of the view by its words, wherever it is by now: what is above it may still grow.
func (b *tab) presses(words string) {
	b.Helper()
	b.wait(`[...document.querySelectorAll("main button")].some(e => e.innerText.includes(%q) && !e.disabled)`, words)
	query[bool](b, `([...document.querySelectorAll("main button")].find(e =>
		e.innerText.includes(%q)).click(), true)`, words)
}

// shows waits until the view has a text.
func (b *tab) shows(text string) {
	b.Helper()
	b.wait(`document.querySelector("main").innerText.includes(%q)`, text)
}

// row clicks the row of a list whose first cell has a text.
func (b *tab) row(name string) {
	b.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("main [role=row]")].find(e =>
		e.innerText.split("\n")[0].trim() === %q)`, name)
	b.wait(`%s`, find)
	query[bool](b, `(`+find+`.click(), true)`)
}

// gdb types in a terminal what the page shows to have gdb stop in a CF's function. What it returns waits until
// gdb has stopped there and gone.
func (b *tab) gdb(t *testing.T) (gone func()) {
	t.Helper()
	if _, err := exec.LookPath("gdb"); err != nil {
		return func() {}
	}
	line := query[string](b, `[...document.querySelectorAll("main code")].find(e =>
		e.innerText.includes("gdb -q -p ")).innerText`)
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdin = strings.NewReader("bt 1\ndetach\nquit\n")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(out), ""
	read := func(until string) {
		for lines.Scan() {
			said += lines.Text() + "\n"
			if strings.Contains(lines.Text(), until) {
				return
			}
		}
		t.Fatalf("%s does not say %q:\n%s", line, until, said)
	}
	read("Continuing.")
	return func() {
		read("#0  ws_sub_2_more () at ./prog.fa:2")
		_ = cmd.Wait() // gdb detaches as it ends, whatever its exit code
	}
}

// pageDebug stops a program, holds CFs, looks at values, changes one, and lets it go on.
func pageDebug(t *testing.T, p *pages) {
	d := p.debugged(t, debuggedProgram, "4")
	b := p.open(t, d.url+"?view=debug&lang=en&theme=light", `\b503\b`) // of the trace there is nothing yet
	b.shows("Stopped: before it begins")
	b.forgiving(`\b503\b|\b400\b|Bad Request`)
	b.typed("New breakpoint", "nowhere")
	b.shows("nowhere: the program has no code fragment or label nowhere; it has")
	b.typed("New breakpoint", "turn[2]")
	b.shows("reached: 0")
	b.typed("New breakpoint", "turn[*] log i is {i}")
	b.typed("New breakpoint", "turn[1]")
	b.wait(`document.querySelector('main [aria-label="Remove: turn[1]"]')`)
	query[bool](b, `(document.querySelector('main [aria-label="Remove: turn[1]"]').click(), true)`)
	b.wait(`!document.querySelector('main [aria-label="Remove: turn[1]"]')`)
	b.typed("CFs to hold", "turn[3]")
	b.shows("Release")

	// Steps of a node, and up to a wait.
	b.row("main")
	b.wait(`document.querySelector("main section[aria-labelledby=cf]").innerText.includes("main")`)
	b.presses("this node")
	b.presses("Step")
	b.shows("Stopped: the step is over")
	b.shows("a CF of sub main(int n) has ended (prog.fa:9)")
	b.typed("Run until", "1ns")
	b.shows("the program has run for")
	b.typed("Run until", "wait")
	b.shows("Stopped: it has reached the place to run to")
	b.shows("show on node 0 (prog.fa:17) waits for x[4]")
	b.typed("Run until", "turn[1]")
	b.shows("Stopped: breakpoint")
	b.shows("turn[1] on node 0 (prog.fa:16)")
	b.presses("this CF")
	b.keys("c")
	b.shows("Stopped: breakpoint")
	b.shows("turn[2] on node 0 (prog.fa:16)")
	b.shows("turn[0] on node 0 (prog.fa:16): i is 0")

	// What the CF gets, and sees; its value is changed.
	b.wait(`[...document.querySelectorAll("main section[aria-labelledby=cf] td code")].some(e => e.innerText === "3")`)
	b.shows("Created by: for i")
	b.presses("✎")
	b.typed("New value of x[2]", "many")
	b.shows("many is not a 32-bit int")
	b.typed("New value of x[2]", "103")
	b.shows("x[2] as an input of turn[2]: 103 instead of 3")

	// It is to be first, and runs at another node.
	b.presses("Let it be first")
	b.shows("First, before all others: turn[2]")
	b.shows("gdb -q -p ")
	b.typed("Run it at node", "9")
	b.shows("there is no node 9: the run has 2 nodes")
	b.typed("Run it at node", "1")
	b.wait(`/ready, 1\.0/.test(document.querySelector("main section[aria-labelledby=cf]").innerText)`)

	// DFs: who will use them, how two differ, a value for all; raw data as hex, as an array, as a picture.
	b.wait(`[...document.querySelectorAll("main [role=row]")].some(e =>
		e.innerText.split("\n")[0].trim() === "x[2]" && e.innerText.includes("turn[2]"))`)
	b.row("x[0]")
	b.typed("Compare with", "g")
	b.shows("one is of type int, the other of type value")
	b.typed("Compare with", "x[1]")
	b.shows("x[1]: 1 and 2: the second is larger by 1")
	b.typed("New value of x[0]", "1.5")
	b.shows("1.5 is not a 32-bit int")
	b.typed("New value of x[0]", "7")
	b.shows("x[0]: 7 instead of 1")
	b.shows("x[1]: 7 and 2: the second is larger by -5")
	b.row("g")
	b.shows("00 00 00 00 00 00 00 00")
	b.typed("Show as", "double[6][9]")
	b.shows("double[6][9]: 384 bytes are 48 elements")
	b.typed("Show as", "double[6][8]")
	b.shows("6 × 8")
	b.wait(`document.querySelector("main canvas").width === 8 && document.querySelector("main canvas").height === 6`)
	b.do(chromedp.EmulateViewport(1280, 1260))
	b.picture("page-debug")
	b.accessible("debug")

	// One step, of its worker at the other node, then all up to the CF that is held.
	b.presses("this worker")
	gdb := b.gdb(t)
	b.keys("t")
	b.shows("Stopped: the step is over")
	gdb()
	b.shows("104")
	b.wait(`!document.querySelector("main").innerText.includes("First, before all others")`)
	b.keys("c")
	b.shows("Stopped: only held CFs are left")
	b.presses("held")
	b.shows("turn[3]")
	b.click("nav a:nth-child(2)")
	b.wait(`document.body.innerText.includes("The program is stopped: 1 held CF is all that can go on")`)
	b.keys("b")
	b.presses("Release")
	b.shows("Held CFs stay while the rest goes on")
	b.typed("Run until", "made x[4]")
	b.shows("x[4]: turn[3] on node 0 (prog.fa:16)")
	b.presses("Continue")
	b.shows("The run is over.")

	// What was changed by hand is an event.
	b.do(chromedp.Navigate(d.url + "?view=events&lang=en&f.events.kinds=DebugEvents.onChanged"))
	b.shows("2 events")
	b.shows("was=3, is=103")
	b.shows("was=1, is=7")
	d.says(t, "whyslow: the run is over; the page stays")
	if code := d.interrupt(t); code != 0 || d.out.String() != "105\n" {
		t.Errorf("exit code %d, it printed %q", code, d.out.String())
	}
	if got := p.whyslow(t, "report", d.trace); !strings.Contains(got, "changed by hand: x[2] as an input") {
		t.Errorf("the report does not warn:\n%s", got)
	}

	// Where it is stuck, a key leads from any view to the CF that waits. Ctrl+C keeps the trace.
	d = p.debugged(t, strings.Replace(debuggedProgram, "start(x[0]);", "", 1), "4")
	b = p.open(t, d.url+"?view=debug&lang=ru&theme=dark", `\b503\b`)
	b.shows("Остановлена: перед началом")
	b.click("nav a:nth-child(2)")
	b.wait(`document.body.innerText.includes("Программа остановлена: before the program begins")`)
	b.keys("b")
	b.presses("Дальше")
	b.shows("Остановлена: дальше ничего не может идти")
	b.click("nav a:nth-child(1)")
	b.wait(`[...document.querySelectorAll("button")].some(e => e.innerText === "К ждущему ФВ (B)")`)
	b.keys("b")
	b.shows("Ждёт: x[")
	b.picture("debug-stuck")
	if code := d.interrupt(t); code != 130 {
		t.Errorf("Ctrl+C: exit code %d", code)
	}
	p.whyslow(t, "doctor", d.trace)
	p.whyslow(t, "report", d.trace)
}
