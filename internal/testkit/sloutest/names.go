package sloutest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
)

// Names are names of code fragments that are hard for one format or another.
var Names = []string{`say "hi"`, `back\slash\`, `a,b;c`, "two\nlines", "two\r\nlines", "tab\there",
	`</script><b>&amp;`, `]]>`, `%s%d%%`, `'; drop table codes; --`, `{"ph":"X"}`, `\N`, `\n`, ` spaces `,
	`=1+1`, `#code 7`, `Матрица`, `速度 🐌`, "a\u202eb", "c\u2028d", "NUL\x00end", "\x1b[31mred",
	strings.Repeat("long ", 200)}

// Named is the text of a run that executes a code fragment of each of Names, in their order.
func Named() string {
	var b strings.Builder
	b.WriteString("#node 0\n")
	for i, name := range Names {
		fmt.Fprintf(&b, "#code %d %s atomic\n#site %d code=%d\n", i+1, strconv.Quote(name), i+1, i+1)
	}
	b.WriteString("0 Global.onProgramStarted\n")
	for i := range Names {
		at, cf := 10*i+1, i+1
		fmt.Fprintf(&b, "%d CF.onCreated cf=0.%d site=%d\n%d CF.onStarted 0.%d\n%d CF.onFinished 0.%d\n", at, cf,
			cf, at+1, cf, at+5, cf)
	}
	fmt.Fprintf(&b, "%d Global.onProgramFinished\n", 10*len(Names)+9)
	return b.String()
}

// Executed lists the names of the code fragments of all executions, by worker and in order of time.
func Executed(m *model.Model) (list []string) {
	for _, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			list = append(list, m.Codes[m.CodeOf(m.ExecCF[e])].Name)
		}
	}
	return list
}
