package main

import (
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// partsCPP of whyslow.hpp in their order; what follows <implementation> is for one source file only.
var partsCPP = []string{"types.hpp", "event.hpp", "module.hpp", "standard.hpp", "<implementation>",
	"json.hpp", "config.hpp", "host.hpp", "run.hpp", "track.hpp", "writer.hpp", "<end>"}

func headerCPP(src string) ([]byte, error) {
	return assemble(src, strings.Replace(notice, "sdk/src ", "sdk/src/cpp ", 1), partsCPP, map[string]string{
		"<implementation>": implementationCPP(), "<end>": "\n#endif // WHYSLOW_IMPLEMENTATION\n"})
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
