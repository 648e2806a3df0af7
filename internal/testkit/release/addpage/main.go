// Addpage adds the packages that are in the page to an SBOM in CycloneDX: addpage SBOM LICENCES, where
// LICENCES is web/dist/licenses.md, which the build of the page writes.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// packageLine begins what is said of a package: "## @dagrejs/dagre - 3.1.3 (MIT)".
var packageLine = regexp.MustCompile(`(?m)^## (\S+) - (\S+) \((.+)\)$`)

func main() {
	if err := add(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "addpage:", err)
		os.Exit(1)
	}
}

func add(sbom, licences string) error {
	text, err := os.ReadFile(sbom)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(licences)
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", sbom, err)
	}
	packages := packageLine.FindAllStringSubmatch(string(page), -1)
	if len(packages) == 0 {
		return fmt.Errorf("%s names no package", licences)
	}
	components, _ := doc["components"].([]any)
	for _, p := range packages {
		purl := "pkg:npm/" + strings.Replace(p[1], "@", "%40", 1) + "@" + p[2]
		components = append(components, map[string]any{"type": "library", "bom-ref": purl, "name": p[1],
			"version": p[2], "purl": purl,
			"licenses": []any{map[string]any{"license": map[string]any{"id": p[3]}}}})
	}
	doc["components"] = components
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(sbom, append(out, '\n'), 0o666)
}
