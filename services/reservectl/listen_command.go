package reservectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
)

// printable lists the parts of a webhook that listen can print after its first line.
var printable = []string{"body", "headers"}

func (a *app) listenCommand() *cobra.Command {
	var events, parts []string
	o := listenerOptions{}
	c := &cobra.Command{
		Use: "listen", Short: "Receive webhooks on this machine, and print and verify them", Args: exactly(),
		Long: `listen receives webhooks on this machine. It opens an HTTPS server on 127.0.0.1
with a new certificate, and registers it as an endpoint. It prints every webhook
that arrives, reports whether its two signatures (JWT and Standard Webhooks) are
valid, and responds. Ctrl-C deletes the endpoint.

The platform must run on this machine and allow webhooks to private addresses;
"make run" does. Standard output has one JSON object a line, or text on a
terminal; choose one with --output.`,
		Example: `  reservectl listen
  reservectl listen --events pass.purchased --print headers,body
  reservectl listen --forward-to http://127.0.0.1:3000/webhooks
  reservectl listen --answer 500   # and watch the retries`,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.events, err = eventTypes(events); err != nil {
				return err
			}
			return a.listenAndPrint(c.Context(), o, parts)
		},
	}
	eventsFlag(c, &events, webhookevent.DefaultNames(), "events to receive")
	c.Flags().IntVar(&o.port, "port", 0, "port to listen on; 0: any free port")
	c.Flags().IntVar(&o.answer, "answer", 200, "HTTP status to respond with")
	c.Flags().StringVar(&o.forward, "forward-to", "", "URL to forward each webhook to, unchanged; its response goes back to the platform")
	c.Flags().StringSliceVar(&parts, "print", []string{"body"}, "parts of each webhook to print: "+strings.Join(printable, ", "))
	c.Flags().StringVar(&a.access.Webhooks.CAFile, "ca", "", caUsage)
	completeFlag(c, "print", printable)
	return c
}

// caUsage is the help of --ca.
const caUsage = "certificate file of the authority that the platform trusts, instead of the one in credentials.json; its key is next to it (.key)"

// check reports all wrong options.
func (o listenerOptions) check(parts []string) error {
	var faults []error
	if o.port < 0 || o.port > 65535 {
		faults = append(faults, errors.New("--port must be between 0 and 65535"))
	}
	if o.answer < 200 || o.answer > 599 {
		faults = append(faults, errors.New("--answer must be a status between 200 and 599"))
	}
	if o.forward != "" {
		if u, err := url.Parse(o.forward); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			faults = append(faults, fmt.Errorf("--forward-to must be an http or https URL, not %q", o.forward))
		}
	}
	for _, part := range parts {
		if !slices.Contains(printable, part) {
			faults = append(faults, fmt.Errorf("--print %s, not %q", fault.OneOf(printable), part))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return usageError{err}
	}
	return nil
}

// listenAndPrint receives and prints webhooks until ctx ends, which is not an error.
func (a *app) listenAndPrint(ctx context.Context, o listenerOptions, parts []string) error {
	table, err := a.table()
	if err != nil {
		return err
	}
	if err := o.check(parts); err != nil {
		return err
	}
	o.seen = func(r *receipt) {
		if table {
			a.printReceipt(r, parts)
			return
		}
		line, err := encode(receiptRow(r, parts))
		if err == nil {
			fmt.Fprintf(a.out, "%s\n", line)
		}
	}
	l, err := a.listen(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.errOut, "endpoint %s receives webhooks at %s\nto send a sample: reservectl webhook test %s --event pass.purchased\npress Ctrl-C to delete the endpoint\n",
		l.endpoint, l.url, l.endpoint)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-l.failed:
	}
	return errors.Join(err, l.close())
}

// printReceipt prints a webhook as text.
func (a *app) printReceipt(r *receipt, parts []string) {
	fmt.Fprintf(a.out, "%s  %s  %s%s  JWT %s  Standard Webhooks %s  answered %d\n", r.at.Format("15:04:05.000"),
		printableText(r.envelope.Event), printableText(r.envelope.ID), notes(r), verdict(r.token), verdict(r.standard), r.answer)
	if slices.Contains(parts, "headers") {
		for _, name := range slices.Sorted(maps.Keys(r.header)) {
			for _, value := range r.header[name] {
				fmt.Fprintf(a.out, "  %s: %s\n", name, printableText(value))
			}
		}
	}
	if slices.Contains(parts, "body") {
		fmt.Fprintln(a.out, printableText(string(indented(r.body))))
	}
}

func notes(r *receipt) string {
	text := ""
	if r.envelope.Test {
		text += "  test"
	}
	if r.repeat > 0 {
		text += fmt.Sprintf("  repeat %d", r.repeat)
	}
	return text
}

func verdict(err error) string {
	if err != nil {
		return "NOT VERIFIED (" + printableText(err.Error()) + ")"
	}
	return "verified"
}

// receiptRow returns a webhook as a JSON object.
func receiptRow(r *receipt, parts []string) row {
	out := row{
		{"at", r.at.UTC().Format(time.RFC3339Nano)}, {"event", r.envelope.Event}, {"id", r.envelope.ID}, {"test", r.envelope.Test},
		{"repeat", r.repeat}, {"jwt", signature(r.token)}, {"standard_webhooks", signature(r.standard)}, {"verified", r.verified()}, {"answer", r.answer},
	}
	if slices.Contains(parts, "headers") {
		out = append(out, member{"headers", r.header})
	}
	if slices.Contains(parts, "body") {
		if json.Valid(r.body) {
			return append(out, member{"body", json.RawMessage(r.body)})
		}
		return append(out, member{"body", string(r.body)})
	}
	return out
}

// signature returns "verified", or the reason why a signature is not valid.
func signature(err error) string {
	if err != nil {
		return err.Error()
	}
	return "verified"
}
