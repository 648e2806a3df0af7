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

// release is the version of this source, the newest in CHANGELOG.md. A tag of git has its name with a v
// before it. docs/stability.md says what the three numbers promise.
const release = "0.9.0"

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of git, where Go knew it
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Runs     bool   `json:"runs"` // built with the engine
}

func readVersion() versionInfo {
	v := versionInfo{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Runs: canRun}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	// What `go install MODULE@COMMIT` builds has its revision at the end of a version without a tag.
	if i := strings.LastIndexByte(info.Main.Version, '-'); strings.Count(info.Main.Version, "-") > 1 {
		v.Revision = strings.TrimSuffix(info.Main.Version[i+1:], "+dirty")
	}
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

// name is the version with the revision beside it, and a + if files were changed after that.
func (v versionInfo) name() string {
	if v.Revision == "" {
		return v.Version
	}
	name := v.Version + " " + v.Revision[:min(12, len(v.Revision))]
	if v.Modified {
		name += "+"
	}
	return name
}

func (v versionInfo) String() string {
	engine := "with engine"
	if !v.Runs {
		engine = "without engine (" + whyNoEngine() + ": reads traces, does not run programs)"
	}
	return fmt.Sprintf("whyslow %s, %s, %s, %s", v.name(), v.Go, v.Platform, engine)
}

// buildName is what processes of one job compare: they must run the same version.
func buildName() string { return "whyslow " + readVersion().name() }

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
