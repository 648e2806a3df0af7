package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files/archives"
	"github.com/whyslow/whyslow/internal/words"
)

// readers are the verbs whose arguments are traces. They take archives as well, as the page saves them, and
// traces of other programs.
var readers = []string{"report", "view", "diff", "dump", "convert", "predict", "balance", "doctor", "index",
	"send", "sql"}

// givenAs has the names under which the user gave traces that openArchives has replaced.
var givenAs = map[string]string{}

// openArchives puts the folders of unpacked traces in the place of archives among the arguments of a verb,
// and those of imported traces in the place of files of other programs.
func openArchives(ctx context.Context, io console.IO, cmd *cobra.Command, args []string) error {
	if !slices.Contains(readers, cmd.Name()) {
		return nil
	}
	for i, name := range args {
		dir := ""
		var err error
		if archives.Is(name) {
			line := console.StartProgress(io)
			dir, err = archives.Unpack(ctx, name, func(done int64) {
				line.Set("unpacking %s: %s", name, words.English.Bytes(done))
			})
			line.End()
		} else if r, ok := foreignFormat(name); ok {
			dir, err = importOnce(ctx, io, &r)
		}
		if err != nil {
			return badInput(err)
		}
		args[i] = cmp.Or(dir, name)
		givenAs[args[i]] = name
	}
	return nil
}
