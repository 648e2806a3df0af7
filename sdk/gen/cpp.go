package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// partsCPP of whyslow.hpp in their order; what follows the one in angle brackets is for one source file only.
var partsCPP = []string{"types.hpp", "event.hpp", "module.hpp", "standard.hpp", "<implementation>",
	"json.hpp", "config.hpp", "host.hpp", "run.hpp", "track.hpp", "writer.hpp"}

func headerCPP(src string) ([]byte, error) {
	var b strings.Builder
	b.WriteString(strings.Replace(notice, "sdk/src ", "sdk/src/cpp ", 1))
	for _, part := range partsCPP {
		if part == "<implementation>" {
			b.WriteString(implementationCPP())
			continue
		}
		text, err := os.ReadFile(src + "/" + part)
		if err != nil {
			return nil, err
		}
		b.WriteString("\n")
		b.Write(text)
	}
	b.WriteString("\n#endif // WHYSLOW_IMPLEMENTATION\n")
	return []byte(b.String()), nil
}

// implementationCPP begins the implementation, with the names of all standard events.
func implementationCPP() string {
	var b strings.Builder
	b.WriteString("\n#endif // WHYSLOW_HPP\n\n#if defined(WHYSLOW_IMPLEMENTATION) && " +
		"!defined(WHYSLOW_HPP_IMPLEMENTED)\n#define WHYSLOW_HPP_IMPLEMENTED\n\n#define WHYSLOW_STANDARD_EVENTS")
	for i, k := range trace.Kinds() {
		comma := map[bool]string{true: " ", false: ", "}[i == 0]
		if i%4 == 0 && i > 0 {
			comma = ", \\\n    "
		}
		fmt.Fprintf(&b, "%s\"%s::%s\"", comma, k.Namespace, k.Name)
	}
	b.WriteString("\n")
	return b.String()
}
