package reservectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	grpcstatus "google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/service"
)

// The exit statuses; see doc.go.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// errRefused says that an import is done but for some lines.
var errRefused = errors.New("some lines were refused")

// usageError is a command that was typed wrongly.
type usageError struct{ error }

// Main runs one command and returns its exit status.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot(in, out, errOut)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errRefused):
		return exitRefused
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "reservectl: %v\n", err)
		return exitUsage
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	fmt.Fprintf(errOut, "reservectl: %s\n", explain(err))
	return exitFailed
}

// hinted is an error with what may be meant.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// awayHint tells a service that was not reached from one that answers and lacks
// something; cause is that of the fault.
func awayHint(cause error) string {
	if cause == nil { // a service said so
		return "; the service runs, and what it needs does not answer: its log says what"
	}
	var said interface{ GRPCStatus() *grpcstatus.Status }
	if errors.As(cause, &said) {
		return "; is the platform running, at this address? " + said.GRPCStatus().Message()
	}
	return "; is the platform running, at this address?"
}

// labelled is an error with the service or the step that it comes from.
type labelled struct {
	error
	label string
}

func (l labelled) Unwrap() error { return l.error }

// explain says what a service refused, or what went wrong, in one line.
func explain(err error) string {
	var h hinted
	errors.As(err, &h)
	var l labelled
	if errors.As(err, &l) {
		l.label += ": "
	}
	var f *fault.Error
	if !errors.As(err, &f) && fault.From(err).Kind == fault.Internal {
		return l.label + err.Error() + h.hint
	}
	f = fault.From(err)
	message := f.Message
	if len(f.Fields) > 1 {
		all := make([]string, len(f.Fields))
		for i, field := range f.Fields {
			all[i] = refusal{field.Field, field.Rule, field.Message}.sentence()
		}
		message = strings.Join(all, "; ")
	}
	if f.Kind == fault.Unavailable {
		h.hint += awayHint(errors.Unwrap(f))
	}
	return l.label + message + " (" + f.Reason + ")" + h.hint
}

// app is what the commands share.
type app struct {
	in          io.Reader
	out, errOut io.Writer
	access      access
	output      string
}

func newRoot(in io.Reader, out, errOut io.Writer) *cobra.Command {
	a := &app{in: in, out: out, errOut: errOut}
	root := &cobra.Command{
		Use:   "reservectl",
		Short: "Operate a reservation platform",
		Long: `reservectl operates a reservation platform over gRPC.

It finds the platform and its credential in a credentials.json, which
"make run" writes to .run/credentials.json:

  export RESERVATION_CREDENTIALS=.run/credentials.json
  reservectl company create --name "Riverside Yoga" --timezone Europe/London --currency GBP

Standard output is JSON, or a table on a terminal (--output says which).
Progress and errors go to standard error. The exit status is 0: done, 1: failed,
2: typed wrongly, 3: done, but an import has refused some lines.`,
		Example: `  reservectl company list
  reservectl completion bash > /etc/bash_completion.d/reservectl`,
		SilenceUsage: true, SilenceErrors: true, Version: service.Version(),
		// Without these cobra itself refuses an unknown command, and not as a usageError.
		Args: cobra.ArbitraryArgs, RunE: helpOrUnknown,
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.access.file, "credentials", "", "the credentials.json (default: RESERVATION_CREDENTIALS)")
	flags.StringVar(&a.access.GRPC.Auth, "auth", "", "address of the auth service, instead of the file's")
	flags.StringVar(&a.access.GRPC.Customer, "customer", "", "address of the customer service, instead of the file's")
	flags.StringVar(&a.access.GRPC.Booking, "booking", "", "address of the booking service, instead of the file's")
	flags.StringVar(&a.access.GRPC.Pass, "pass", "", "address of the pass service, instead of the file's")
	flags.StringVar(&a.access.GRPC.Webhook, "webhook", "", "address of the webhook service, instead of the file's")
	flags.StringVar(&a.access.GRPC.ServiceToken, "token", "", "a service token, instead of the file's (default: RESERVATION_TOKEN, which other users of the machine do not see)")
	flags.StringVar(&a.access.tls.CertFile, "tls-cert", "", "PEM certificate to call with, where the platform wants one (default: GRPC_TLS_CERT_FILE)")
	flags.StringVar(&a.access.tls.KeyFile, "tls-key", "", "PEM key of that certificate (default: GRPC_TLS_KEY_FILE)")
	flags.StringVar(&a.access.tls.CAFile, "tls-ca", "", "PEM certificates of the authorities of the platform's parts (default: GRPC_TLS_CA_FILE)")
	flags.StringVar(&a.access.CompanyID, "company", "", "the company (comp_…) to act for, instead of the file's")
	flags.StringVarP(&a.output, "output", "o", "auto", "json, table, or auto: a table on a terminal")
	offer(root, "output", []string{"auto", "json", "table"})
	root.AddCommand(a.companyCommand(), a.clientCommand(), a.keyCommand(), a.credentialCommand(), a.signingKeyCommand(), a.adminCommand(), a.customerCommand(), a.transactionCommand(), a.verifyCommand(), a.reconcileCommand(), a.seedCommand(),
		a.webhookCommand(), a.listenCommand(), a.demoCommand(), a.demonstrationCommand())
	return root
}

// group makes a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: commands[0].Example, RunE: helpOrUnknown}
	c.AddCommand(commands...)
	return c
}

func helpOrUnknown(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q; see %s --help", args[0], c.CommandPath())}
	}
	return c.Help()
}

// exactly refuses another number of arguments than the ones named.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usageError{fmt.Errorf("wants %d argument(s) %v, got %d; see %s --help", len(names), names, len(args), c.CommandPath())}
	}
}

// required makes flags that must be given.
func required(c *cobra.Command, names ...string) *cobra.Command {
	inner := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		var faults []error
		for _, name := range names {
			if !c.Flags().Changed(name) {
				faults = append(faults, fmt.Errorf("--%s is required", name))
			}
		}
		if len(faults) > 0 {
			return usageError{errors.Join(faults...)}
		}
		return inner(c, args)
	}
	return c
}
