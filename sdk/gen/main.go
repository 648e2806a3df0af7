// Command gen puts sdk/whyslow.h and sdk/whyslow.hpp together: the parts in sdk/src, with the events of
// trace.Kinds() among them. It runs in sdk's folder: go generate ./sdk
package main

import (
	"fmt"
	"os"
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

// parts of whyslow.h in their order; those in angle brackets are made.
var parts = []string{"api.h", "<events>", "<api end>", "private.h", "<table>", "clock.h", "pack.h",
	"file.h", "define.h", "writer.h", "stream.h", "run.h", "send.h", "crash.h", "context.h", "<end>"}

const notice = "/* Made by sdk/gen from sdk/src and the table in trace/kinds.go; change those, " +
	"then: go generate ./sdk */\n"

func header(src string) ([]byte, error) {
	return assemble(src, notice, parts, map[string]string{"<events>": events(), "<table>": table(),
		"<api end>": apiEnd, "<end>": implementationEnd})
}

// assemble puts a header together.
func assemble(src, notice string, parts []string, made map[string]string) ([]byte, error) {
	text := []byte(notice)
	for _, part := range parts {
		if m, ok := made[part]; ok {
			text = append(text, m...)
			continue
		}
		file, err := os.ReadFile(src + "/" + part)
		if err != nil {
			return nil, err
		}
		text = append(append(text, '\n'), file...)
	}
	return text, nil
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
