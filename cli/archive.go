package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/words"
)

// readers are the verbs whose arguments are traces. They take archives as well, as the page saves them.
var readers = []string{"report", "view", "diff", "dump", "convert", "predict", "balance", "doctor", "index",
	"send"}

// openArchives puts the folders of unpacked traces in the place of archives among the arguments of a verb.
func openArchives(ctx context.Context, io console.IO, cmd *cobra.Command, args []string) error {
	if !slices.Contains(readers, cmd.Name()) {
		return nil
	}
	for i, name := range args {
		if !files.IsArchive(name) {
			continue
		}
		line := console.StartProgress(io)
		dir, err := files.Unpack(ctx, name, func(done int64) {
			line.Set("unpacking %s: %s", name, words.English.Bytes(done))
		})
		line.End()
		if err != nil {
			return badInput(err)
		}
		args[i] = dir
	}
	return nil
}
