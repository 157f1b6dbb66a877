package reservectl

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
)

// opener opens a session with a service.
type opener func(ctx context.Context) (*session, error)

// resource holds what the commands for one kind of resource share. C is the client of its
// service.
type resource[C any] struct {
	app    *app
	open   opener
	client func(grpc.ClientConnInterface) C
	// use is the name of the parent command. argument and example name one resource in help.
	use, argument, example string
}

// call runs f with a client of the service.
func (r resource[C]) call(ctx context.Context, f func(ctx context.Context, client C) error) error {
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return f(s.ctx, r.client(s.conn))
}

// print runs do with a client of the service, and prints the row that it returns.
func (r resource[C]) print(ctx context.Context, do func(ctx context.Context, client C) (row, error)) error {
	return r.call(ctx, func(ctx context.Context, client C) error {
		result, err := do(ctx, client)
		if err != nil {
			return err
		}
		return r.app.printOne(result)
	})
}

// list returns the command that lists all resources. read fetches a page of them. Instead of an
// empty table, the command prints none.
func (r resource[C]) list(short, none string, read func(ctx context.Context, client C, pageToken string) (rows []row, next string, err error)) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: short, Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return r.call(c.Context(), func(ctx context.Context, client C) error {
				rows, err := allPages(func(pageToken string) ([]row, string, error) { return read(ctx, client, pageToken) })
				if err != nil {
					return err
				}
				return r.app.printAll(rows, none)
			})
		},
	}
}

// change returns a command that calls change with the identifier of one resource, and prints the
// row that it returns.
func (r resource[C]) change(use, short string, change func(ctx context.Context, client C, id string) (row, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " " + r.argument, Short: short, Args: exactly(r.argument),
		Example:           "  reservectl " + r.use + " " + use + " " + r.example,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return r.print(c.Context(), func(ctx context.Context, client C) (row, error) { return change(ctx, client, args[0]) })
		},
	}
}

// listSize is the number of resources on a page of a list.
const listSize = 1000

// allPages fetches all pages of a list. read gets the page token that the page before returned.
func allPages[T any](read func(pageToken string) (items []T, next string, err error)) ([]T, error) {
	var all []T
	for pageToken := ""; ; {
		items, next, err := read(pageToken)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if pageToken = next; next == "" {
			return all, nil
		}
	}
}

func rowsOf[T any](items []T, rowOf func(T) row) []row {
	var rows []row
	for _, item := range items {
		rows = append(rows, rowOf(item))
	}
	return rows
}

// flagValue returns the value of a flag, or nil if the flag was not given.
func flagValue[T any](c *cobra.Command, flag string, value *T) *T {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return value
}

// completeFlag makes the shell complete the values of a flag.
func completeFlag(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
