// Command gen puts sdk/whyslow.h and sdk/whyslow.hpp together: the parts in sdk/src, with the events of
// trace.Kinds() among them. It runs in sdk's folder: go generate ./sdk
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	text, err := header("src")
	if err == nil {
		err = os.WriteFile("whyslow.h", text, 0o644)
	}
	if err == nil {
		text, err = headerCPP("src/cpp")
	}
	if err == nil {
		err = os.WriteFile("whyslow.hpp", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// parts of the header in their order; those in angle brackets are generated.
var parts = []string{"api.h", "<events>", "<end>", "private.h", "<table>", "clock.h", "pack.h",
	"file.h", "define.h", "writer.h", "stream.h", "run.h", "crash.h", "context.h", "<end>"}

const notice = "/* Made by sdk/gen from sdk/src and the table in trace/kinds.go; change those, " +
	"then: go generate ./sdk */\n"

func header(src string) ([]byte, error) {
	var b strings.Builder
	b.WriteString(notice)
	ends := []string{apiEnd, implementationEnd}
	for _, part := range parts {
		switch part {
		case "<events>":
			b.WriteString(events())
		case "<table>":
			b.WriteString(table())
		case "<end>":
			b.WriteString(ends[0])
			ends = ends[1:]
		default:
			text, err := os.ReadFile(src + "/" + part)
			if err != nil {
				return nil, err
			}
			b.WriteString("\n")
			b.Write(text)
		}
	}
	return []byte(b.String()), nil
}

const apiEnd = `
#ifdef __cplusplus
}
#endif
#endif /* WHYSLOW_H */

#if defined(WHYSLOW_IMPLEMENTATION) && !defined(WHYSLOW_IMPLEMENTED)
#define WHYSLOW_IMPLEMENTED
`

const implementationEnd = `
#ifdef __cplusplus
}
#endif
#endif /* WHYSLOW_IMPLEMENTATION */
`
