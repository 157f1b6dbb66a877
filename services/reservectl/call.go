package reservectl

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
)

// call describes a command that makes one kind of RPC. The flags of the command are the fields of
// the request, and it prints the response.
type call struct {
	// use is the command's word and the names of its arguments: "cancel REGISTRATION".
	use, short string
	// method is the full name of the RPC, which the generated code has as a constant.
	method string
	// args are the fields that the arguments set: "id", or "date.id" in a message of the request.
	args []string
	// into is a field whose message has its fields as flags of the command, instead of one flag.
	into string
	// fixed are the values of fields that the command always sends.
	fixed map[string]string
	// hidden are further fields without a flag, and required those whose flag must be given.
	hidden, required []string
	// oneOf are fields of which at least one flag must be given. None of the given values can be empty or 0,
	// because the service would treat it as absent.
	oneOf []string
	// aliases are other words for the command.
	aliases []string
	// print lists the fields of the response to print. The members of the first one, which is a
	// message, are printed as those of the result. If it is empty, the first field is printed, or all of
	// them if the first one is not a message.
	print []string
	// columns make the command a list. Each is a member of an item, or "title=path.to.member".
	columns []string
	// split returns the rows of a table for an item; if it is nil, each item is one row.
	split func(row) []row
	// none is printed instead of an empty table.
	none string
	// follow adds a flag by which the command waits for further items.
	follow bool
	// examples are the arguments of example command lines.
	examples []string
}

// pagingFields are the fields that the command line sets itself.
var pagingFields = []string{"page_size", "page_token", "offset", "with_total", "total_limit"}

// methodAnnotation is the annotation of a command with the RPC that it makes.
const methodAnnotation = "method"

// callGroup returns the commands of one kind of resource: those of calls, then more.
func (a *app) callGroup(use, short string, calls []call, more ...*cobra.Command) *cobra.Command {
	commands := make([]*cobra.Command, len(calls))
	for i, c := range calls {
		commands[i] = a.callCommand(use, c)
	}
	return group(use, short, append(commands, more...)...)
}

// callCommand returns the command that c describes, for the group with the given word.
func (a *app) callCommand(group string, c call) *cobra.Command {
	r := newRequest(c)
	command := &cobra.Command{
		Use: c.use, Aliases: c.aliases, Short: c.short, Args: exactly(r.labels...), Example: c.example(group), ValidArgsFunction: cobra.NoFileCompletions,
		Annotations: map[string]string{methodAnnotation: c.method},
	}
	r.addFlags(command)
	if !c.reads() {
		command.Flags().StringVar(&r.key, "idempotency-key", "", "key of this change: repeating the command with it within 24 hours changes nothing more")
	}
	run := func(ctx context.Context) error { return a.printCall(ctx, r) }
	if len(c.columns) > 0 {
		l := listing{app: a, request: r, every: followInterval}
		l.addFlags(command)
		run = l.run
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := r.setArguments(args); err != nil {
			return err
		}
		if err := r.checkOneOf(command); err != nil {
			return err
		}
		return run(command.Context())
	}
	return required(command, r.flagNames(c.required)...)
}

// word returns the command's word.
func (c call) word() string { return strings.Fields(c.use)[0] }

// reads reports whether the RPC changes nothing.
func (c call) reads() bool {
	name := c.method[strings.LastIndexByte(c.method, '/')+1:]
	return slices.ContainsFunc([]string{"Get", "List", "Preview"}, func(verb string) bool { return strings.HasPrefix(name, verb) })
}

func (c call) example(group string) string {
	examples := c.examples
	if len(examples) == 0 {
		examples = []string{""}
	}
	lines := make([]string, len(examples))
	for i, arguments := range examples {
		lines[i] = strings.TrimRight("  reservectl "+group+" "+c.word()+" --company comp_… "+arguments, " ")
	}
	return strings.Join(lines, "\n")
}

// descriptor returns the description of the RPC.
func (c call) descriptor() protoreflect.MethodDescriptor {
	service, method, _ := strings.Cut(strings.TrimPrefix(c.method, "/"), "/")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		panic(err) // the method is a constant of the generated code
	}
	return d.(protoreflect.MethodDescriptor)
}

// newMessage returns an empty message of a generated type.
func newMessage(d protoreflect.MessageDescriptor) protoreflect.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err) // the generated code registers all messages
	}
	return t.New()
}

// openFor opens a session with the service of an RPC, for the company of the command.
func (a *app) openFor(ctx context.Context, c call) (*session, error) {
	part := strings.Split(c.method, ".")[1] // "/reservation.booking.v1.EventService/GetEvent"
	services := map[string]opener{
		"auth": a.auth, "customer": a.customers, "booking": a.bookings, "pass": a.passes,
		"subscription": a.subscriptions, "media": a.media, "reports": a.reports, "webhook": a.webhooks,
	}
	return a.forCompany(services[part])(ctx)
}

// send makes the call. Its errors name flags and arguments as the caller wrote them.
func (r *request) send(s *session) (protoreflect.Message, error) {
	ctx := s.ctx
	if r.key != "" {
		ctx = rpc.WithIdempotencyKey(ctx, r.key)
	}
	res := newMessage(r.call.descriptor().Output())
	if err := s.conn.Invoke(ctx, r.call.method, r.message.Interface(), res.Interface()); err != nil {
		return nil, r.renamed(err)
	}
	return res, nil
}

// renamed returns err with the names of flags and arguments instead of those of fields.
func (r *request) renamed(err error) error {
	f := fault.From(err)
	if due := f.Meta["amount_due"]; due != "" {
		return hintedError{err, strings.TrimRight("; the amount due now is "+due+" "+f.Meta["currency"], " ") + ", in minor units"}
	}
	if len(f.Fields) == 0 {
		return err
	}
	names := map[string]string{}
	for _, field := range f.Fields {
		names[field.Field] = r.nameOf(field.Field)
	}
	return f.Rename(names)
}

// printCall makes a call and prints what it returns.
func (a *app) printCall(ctx context.Context, r *request) error {
	s, err := a.openFor(ctx, r.call)
	if err != nil {
		return err
	}
	defer s.close()
	res, err := r.send(s)
	if err != nil {
		return err
	}
	return a.printOne(r.result(res))
}

// result returns what a command prints for a response. The response to a deletion is empty.
func (r *request) result(res protoreflect.Message) row {
	fields := res.Descriptor().Fields()
	if fields.Len() == 0 {
		return deletedRow("id", r.arguments[len(r.arguments)-1])
	}
	names := r.call.print
	if len(names) == 0 && fields.Get(0).Kind() != protoreflect.MessageKind {
		return rowOf(res)
	}
	if len(names) == 0 {
		names = []string{string(fields.Get(0).Name())}
	}
	result := rowOf(res.Get(fields.ByName(protoreflect.Name(names[0]))).Message())
	for _, name := range names[1:] {
		result = append(result, member{name, valueOf(res, fields.ByName(protoreflect.Name(name)))})
	}
	return result
}
