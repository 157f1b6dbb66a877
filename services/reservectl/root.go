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

// The exit statuses: see invariant 5.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// errRefused reports that an import is done, but that some lines were refused.
var errRefused = errors.New("some lines were refused")

// usageError is the error of a wrong command line.
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

// hintedError is an error with advice, which is printed after it.
type hintedError struct {
	error
	hint string
}

func (h hintedError) Unwrap() error { return h.error }

// unavailableHint returns the advice for an unavailable service. cause is the cause of the
// fault; nil: the service itself answered that it is unavailable.
func unavailableHint(cause error) string {
	if cause == nil {
		return "; the service is running, but something that it depends on does not respond: see the service's log"
	}
	hint := "; check that the platform is running at this address"
	var status interface{ GRPCStatus() *grpcstatus.Status }
	if errors.As(cause, &status) {
		hint += ": " + status.GRPCStatus().Message()
	}
	return hint
}

// labelledError is an error with the name of the service or the step that it comes from.
type labelledError struct {
	error
	label string
}

func (l labelledError) Unwrap() error { return l.error }

// explain returns what went wrong, or what a service refused, in one line.
func explain(err error) string {
	var h hintedError
	errors.As(err, &h)
	var l labelledError
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
		h.hint += unavailableHint(errors.Unwrap(f))
	}
	return l.label + message + " (" + f.Reason + ")" + h.hint
}

// app holds what the commands share: the streams and the global flags.
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

It reads the services' addresses and a credential from a credentials.json.
"make run" writes one to .run/credentials.json:

  export RESERVATION_CREDENTIALS=.run/credentials.json
  reservectl company create --name "Riverside Yoga" --timezone Europe/London --currency GBP

Standard output is JSON, or a table on a terminal; choose one with --output.
Progress and errors go to standard error.

Exit status:
  0  done
  1  failed; verify and reconcile: there are differences
  2  wrong usage
  3  an import is done, but lines were refused`,
		Example: `  reservectl company list
  reservectl completion bash > /etc/bash_completion.d/reservectl`,
		SilenceUsage: true, SilenceErrors: true, Version: service.Version(),
		// Without these, cobra refuses an unknown command itself, and not with a usageError.
		Args: cobra.ArbitraryArgs, RunE: helpOrUnknown,
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.access.file, "credentials", "", "path of the credentials.json (default: RESERVATION_CREDENTIALS)")
	for _, service := range []struct {
		name string
		addr *string
	}{
		{"auth", &a.access.GRPC.Auth}, {"customer", &a.access.GRPC.Customer}, {"booking", &a.access.GRPC.Booking},
		{"pass", &a.access.GRPC.Pass}, {"subscription", &a.access.GRPC.Subscription}, {"media", &a.access.GRPC.Media}, {"reports", &a.access.GRPC.Reports},
		{"webhook", &a.access.GRPC.Webhook},
	} {
		flags.StringVar(service.addr, service.name, "", "address of the "+service.name+" service (host:port), instead of the one in credentials.json")
	}
	flags.StringVar(&a.access.GRPC.ServiceToken, "token", "", "service token to use, instead of the credential in credentials.json (default: RESERVATION_TOKEN, which other users of the machine cannot see)")
	flags.StringVar(&a.access.tls.CertFile, "tls-cert", "", "PEM file with the certificate to present, if the platform requires one (default: GRPC_TLS_CERT_FILE)")
	flags.StringVar(&a.access.tls.KeyFile, "tls-key", "", "PEM file with the key of that certificate (default: GRPC_TLS_KEY_FILE)")
	flags.StringVar(&a.access.tls.CAFile, "tls-ca", "", "PEM file with the authorities that issue the services' certificates (default: GRPC_TLS_CA_FILE)")
	flags.StringVar(&a.access.CompanyID, "company", "", "company to act for (comp_…), instead of the one in credentials.json")
	flags.StringVarP(&a.output, "output", "o", "auto", "output format: json, table, or auto (a table on a terminal, else JSON)")
	completeFlag(root, "output", []string{"auto", "json", "table"})
	root.AddCommand(a.companyCommand(), a.signingKeyCommand(), a.adminCommand(), a.tokenCommand(), a.verifyCommand(), a.reconcileCommand(),
		a.seedCommand(), a.demoCommand(), a.demonstrationCommand(), a.testModeCommand())
	root.AddCommand(a.withTestMode(a.clientCommand(), a.keyCommand(), a.credentialCommand(), a.publishableKeyCommand(),
		a.customerCommand(), a.noteCommand(), a.eventCommand(), a.eventDateCommand(), a.registrationCommand(), a.transactionCommand(),
		a.staffCommand(), a.timeOffCommand(), a.holidayCommand(), a.roomCommand(), a.appointmentTypeCommand(), a.appointmentCommand(), a.calendarCommand(),
		a.holdCommand(), a.waitlistCommand(), a.discountCommand(), a.passCommand(), a.customerPassCommand(), a.planCommand(),
		a.subscriptionCommand(), a.mediaCommand(), a.mediaUploadCommand(), a.mediaCollectionCommand(), a.mediaEntitlementCommand(),
		a.reportCommand(), a.requestCommand(), a.webhookCommand(), a.listenCommand())...)
	return root
}

// group returns a command that only groups the given commands.
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

// exactly returns a check that a command gets the named arguments and no others.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return usageError{fmt.Errorf("unexpected argument %q; see %s --help", args[0], c.CommandPath())}
		}
		return usageError{fmt.Errorf("expected %s, got %d arguments; see %s --help", strings.Join(names, " "), len(args), c.CommandPath())}
	}
}

// required makes flags of a command mandatory. It reports all missing ones at the same time.
func required(c *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		c.Flags().Lookup(name).Usage += " (required)"
	}
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
