package reservectl

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
)

// opener opens a session with a service.
type opener func(ctx context.Context) (*session, error)

// resource is what commands about one kind of things share; C is the client of their
// service.
type resource[C any] struct {
	app    *app
	open   opener
	client func(grpc.ClientConnInterface) C
	// use is the command above them; argument and example are one of the things, as help
	// shows it.
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

// print runs do with a client of the service, and prints what came of it.
func (r resource[C]) print(ctx context.Context, do func(ctx context.Context, client C) (row, error)) error {
	return r.call(ctx, func(ctx context.Context, client C) error {
		done, err := do(ctx, client)
		if err != nil {
			return err
		}
		return r.app.printOne(done)
	})
}

// list makes the command that lists all the things. read reads a page of them; none is
// printed where there are none.
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

// change makes a command that does something to one of the things, and prints what came
// of it.
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

// listSize is how many things a page of a list has.
const listSize = 1000

// allPages reads a list to its end; read gets the token of each page from the page before.
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

// rowsOf returns the rows of some things.
func rowsOf[T any](things []T, rowOf func(T) row) []row {
	var rows []row
	for _, thing := range things {
		rows = append(rows, rowOf(thing))
	}
	return rows
}

// given returns the value of a flag; nil: the flag was not given.
func given[T any](c *cobra.Command, flag string, value *T) *T {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return value
}

// offer completes the values of a flag in the shell.
func offer(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
