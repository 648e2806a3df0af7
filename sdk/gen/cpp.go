package main

import (
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// partsCPP of whyslow.hpp in their order; what follows <implementation> is for one source file only.
var partsCPP = []string{"types.hpp", "event.hpp", "module.hpp", "luna.hpp", "library.hpp", "standard.hpp",
	"<implementation>",
	"json.hpp", "config.hpp", "host.hpp", "run.hpp", "track.hpp", "writer.hpp", "<end>"}

func headerCPP(src string) ([]byte, error) {
	return assemble(src, strings.Replace(notice, "sdk/src ", "sdk/src/cpp ", 1), partsCPP, map[string]string{
		"<implementation>": implementationCPP(), "<end>": "\n#endif // WHYSLOW_IMPLEMENTATION\n"})
}

// implementationCPP begins the implementation, with the names of all standard events.
func implementationCPP() string {
	var b strings.Builder
	b.WriteString("\n#endif // WHYSLOW_HPP\n\n#if defined(WHYSLOW_IMPLEMENTATION) && " +
		"!defined(WHYSLOW_HPP_IMPLEMENTED) && !defined(WHYSLOW_LUNA)\n#define WHYSLOW_HPP_IMPLEMENTED\n\n")
	line := "#define WHYSLOW_STANDARD_EVENTS"
	end := func() { fmt.Fprintf(&b, "%-*s\\\n", lineWidth-1, line) }
	for i, k := range trace.Kinds() {
		name := fmt.Sprintf(" %q", k.Namespace+"::"+k.Name)
		if i > 0 {
			line += ","
		}
		if len(line)+len(name)+len(", \\") > lineWidth {
			end()
			line = "   "
		}
		line += name
	}
	b.WriteString(line)
	b.WriteString("\n")
	return b.String()
}
