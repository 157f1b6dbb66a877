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

	"reservation.dev/platform/webhookevent"
)

// printable are the parts of a webhook that listen prints beside its first line.
var printable = []string{"body", "headers"}

func (a *app) listenCommand() *cobra.Command {
	var events, parts []string
	o := listenerOptions{}
	c := &cobra.Command{
		Use: "listen", Short: "Receive webhooks here: print and verify each as it arrives", Args: exactly(),
		Long: `listen receives webhooks on this machine. It opens an HTTPS server on 127.0.0.1
with a fresh certificate, registers it as an endpoint, prints every webhook that
arrives and whether its two signatures (the JWT and the Standard Webhooks one)
verify, and answers it. Ctrl-C deletes the endpoint.

The platform must run on this machine and let webhooks go to it, as that of
"make run" does. Standard output is a JSON object per line unless it is a
terminal (--output says which).`,
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
	eventsFlag(c, &events, webhookevent.Names(), "what to be told of")
	c.Flags().IntVar(&o.port, "port", 0, "the port to listen on; 0: any that is free")
	c.Flags().IntVar(&o.answer, "answer", 200, "the status to answer with")
	c.Flags().StringVar(&o.forward, "forward-to", "", "a URL that gets each webhook as it came, and whose answer is the answer")
	c.Flags().StringSliceVar(&parts, "print", []string{"body"}, "what to print of each: "+strings.Join(printable, ", "))
	c.Flags().StringVar(&a.access.Webhooks.CAFile, "ca", "", "certificate of the authority that the platform trusts, its key beside it (.key), instead of the file's")
	_ = c.RegisterFlagCompletionFunc("print", cobra.FixedCompletions(printable, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// check reports every wrong option.
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
			faults = append(faults, fmt.Errorf("--print is of %s, not %q", strings.Join(printable, ", "), part))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return usageError{err}
	}
	return nil
}

// listenAndPrint receives until ctx ends, which is how it is meant to end.
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
	fmt.Fprintf(a.errOut, "endpoint %s receives at %s\nsend it a sample: reservectl webhook test %s --event pass.purchased\nCtrl-C deletes it\n",
		l.endpoint, l.url, l.endpoint)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-l.failed:
	}
	return errors.Join(err, l.close())
}

// printReceipt prints a webhook for people.
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

// receiptRow is a webhook for programs.
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

// signature is why a signature does not verify, for programs; "verified": it does.
func signature(err error) string {
	if err != nil {
		return err.Error()
	}
	return "verified"
}
