package cli

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
)

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Runs     bool   `json:"runs"` // built with the engine
}

func readVersion() versionInfo {
	v := versionInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Runs: canRun}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) String() string {
	engine := "with engine"
	if !v.Runs {
		engine = "without engine (" + whyNoEngine() + ": reads traces, does not run programs)"
	}
	revision := ""
	if v.Revision != "" {
		revision = " " + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			revision += "+"
		}
	}
	return fmt.Sprintf("whyslow %s%s, %s, %s, %s", v.Version, revision, v.Go, v.Platform, engine)
}

// buildName is what processes of one job compare: they must run the same version.
func buildName() string {
	name, _, _ := strings.Cut(readVersion().String(), ",")
	return name
}

func versionCommand(io console.IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and how whyslow was built",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if asJSON {
				return writeJSON(io.Out, v)
			}
			fmt.Fprintln(io.Out, v)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// errNoEngine is why programs cannot be run, unless canRun.
var errNoEngine = errors.New("this whyslow cannot run programs: it was " + whyNoEngine())

// whyNoEngine is how this program was built.
func whyNoEngine() string {
	if runtime.GOOS != "linux" {
		return "built for " + runtime.GOOS + ", and programs run on Linux only"
	}
	return "built with CGO_ENABLED=0"
}
