package reservectl

import (
	"fmt"

	"github.com/spf13/cobra"
)

// importOptions are the flags of an import.
type importOptions struct{ format, refused string }

func importFlags(c *cobra.Command, o *importOptions) {
	c.Flags().StringVar(&o.format, "format", "", "csv or ndjson; without it, by the file's name")
	c.Flags().StringVar(&o.refused, "refused", "", "where to report refused lines; without it, NAME.refused.csv or .ndjson beside the file")
	offer(c, "format", []string{formatCSV, formatNDJSON})
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"csv", "ndjson", "jsonl", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// openImport opens the file of an import and its report, and says which columns
// of the file are not read.
func (a *app) openImport(path string, o importOptions, known columns) (*records, *report, error) {
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
		if nearest := known.nearest(title); nearest != "" {
			fmt.Fprintf(a.errOut, "reservectl: the column %q is not known and is not read; is it %s?\n", title, nearest)
			continue
		}
		fmt.Fprintf(a.errOut, "reservectl: the column %q is not known and is not read\n", title)
	}
	return in, rep, nil
}

// finish prints an import's summary; refused lines make an exit status of their own.
func (a *app) finish(sum summary, err error) error {
	if err != nil {
		a.sayCut(sum)
		return err
	}
	if err := a.printOne(sum.row()); err != nil {
		return err
	}
	if sum.refused > 0 {
		return errRefused
	}
	return nil
}

// sayCut says how far an import came that did not come to its end.
func (a *app) sayCut(sum summary) {
	if sum.read == 0 {
		return
	}
	fmt.Fprintf(a.errOut, "reservectl: cut off after %d: %d stored now, %d stored before, %d refused; run the same command again to go on\n",
		sum.read, sum.created, sum.existed, sum.refused)
}
