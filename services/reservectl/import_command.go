package reservectl

import (
	"fmt"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
)

// importOptions holds the flags of an import.
type importOptions struct {
	format, refused string
	// dryRun checks the lines and stores nothing. Only some imports have the flag.
	dryRun bool
}

func importFlags(c *cobra.Command, o *importOptions) {
	c.Flags().StringVar(&o.format, "format", "", "csv or ndjson (default: by the file's extension)")
	c.Flags().StringVar(&o.refused, "refused", "", "file for the report of refused lines (default: NAME.refused.csv or NAME.refused.ndjson next to FILE)")
	completeFlag(c, "format", []string{formatCSV, formatNDJSON})
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"csv", "ndjson", "jsonl", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// openImport opens the file of an import and its report, and warns about unknown columns.
func (a *app) openImport(path string, o importOptions, known csvfile.Columns) (*records, *report, error) {
	in, err := a.openRecords(path, o.format, known)
	if err != nil {
		return nil, nil, err
	}
	rep, err := newReport(in, o.refused)
	if err != nil {
		_ = in.close()
		return nil, nil, err
	}
	for _, title := range in.ignored {
		if nearest := known.Nearest(title); nearest != "" {
			fmt.Fprintf(a.errOut, "reservectl: ignoring the unknown column %q; did you mean %s?\n", title, nearest)
			continue
		}
		fmt.Fprintf(a.errOut, "reservectl: ignoring the unknown column %q\n", title)
	}
	return in, rep, nil
}

// finish prints an import's summary. It returns errRefused if lines were refused.
func (a *app) finish(noun string, sum summary, err error) error {
	if err != nil {
		a.printUnfinished(noun, sum)
		return err
	}
	if err := a.printOne(sum.row()); err != nil {
		return err
	}
	if sum.refused > 0 {
		fmt.Fprintf(a.errOut, "reservectl: %d of %s refused; correct them in %s and import that file\n",
			sum.refused, quantity(sum.read, noun), sum.report)
		return errRefused
	}
	return nil
}

// finishChecked is finish for an import that can be a dry run.
func (a *app) finishChecked(noun string, sum summary, err error, o importOptions) error {
	if o.dryRun && err == nil {
		fmt.Fprintln(a.errOut, "reservectl: this was a dry run: nothing was stored")
	}
	return a.finish(noun, sum, err)
}

// printUnfinished prints how far an import got before it failed.
func (a *app) printUnfinished(noun string, sum summary) {
	if sum.read == 0 {
		return
	}
	updated := ""
	if sum.updates {
		updated = fmt.Sprintf("%d updated, ", sum.updated)
	}
	fmt.Fprintf(a.errOut, "reservectl: the import stopped after %s: %d created, %s%d existed before, %d refused; run the same command again to continue\n",
		quantity(sum.read, noun), sum.created, updated, sum.existed, sum.refused)
}
