package admin

import (
	"slices"
	"strings"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// importKind is a kind of things that can be imported.
type importKind struct {
	name    string
	columns csvfile.Columns
	// key returns the key that the rows of one thing share; nil: each row is a thing.
	key func(csvfile.Row) string
	// run imports a file, and calls refused for each refused row.
	run func(run *importRun, res *importResult, refused func(refusedRow) error) error
}

// importKinds returns the kinds of things that can be imported, in the order of the page.
func importKinds() []importKind {
	return []importKind{customersImport(), passesImport(), bookingsImport()}
}

// importKindNamed returns the kind of a name; the first one if there is none.
func importKindNamed(name string) importKind {
	kinds := importKinds()
	if i := slices.IndexFunc(kinds, func(k importKind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return kinds[0]
}

func customersImport() importKind {
	return importKind{name: "customers", columns: customerfile.Columns(), run: runCustomers}
}

func runCustomers(run *importRun, res *importResult, refused func(refusedRow) error) error {
	stream, err := run.services.customers.ImportCustomers(run.ctx)
	if err != nil {
		return err
	}
	steps := importSteps[*customerv1.ImportedCustomer]{end: stream.CloseSend}
	steps.read = func(rows []csvfile.Row) (*customerv1.ImportedCustomer, error) { return customerfile.Read(rows[0].Get) }
	steps.send = func(things []*customerv1.ImportedCustomer) ([]importOutcome, error) {
		answer, err := exchange(stream, &customerv1.ImportCustomersRequest{Customers: things, DryRun: run.dryRun})
		if err != nil {
			return nil, err
		}
		outcomes := make([]importOutcome, len(answer.GetResults()))
		for i, r := range answer.GetResults() {
			outcomes[i] = importOutcome{int32(r.GetOutcome()), rowRefusal{0, r.GetField(), csvfile.Sentence(r.GetField(), r.GetMessage())}}
		}
		return outcomes, nil
	}
	return importAll(run, steps, res, refused)
}

// customerName is how a row names a customer.
type customerName struct {
	id    string // an identifier, or the reference under which the customer was imported; "" if not given
	email string // "" if not given
	// idColumn and emailColumn are the columns in which they are.
	idColumn, emailColumn string
}

// isEmpty reports whether the row names nobody.
func (n customerName) isEmpty() bool { return n.id == "" && n.email == "" }

// knownCustomers are the customers that the rows of a batch can name, by what they are named.
type knownCustomers struct {
	byID    map[string]string // by identifier and by reference
	byEmail map[string][]string
}

// namesAtOnce bounds how many customers are looked up with one call, in which each can have an identifier, a reference
// and an address.
const namesAtOnce = 1500

// customersNamed looks up the customers whom rows name.
func (r *request) customersNamed(names []customerName) (knownCustomers, error) {
	known := knownCustomers{byID: map[string]string{}, byEmail: map[string][]string{}}
	seen := map[customerName]bool{}
	distinct := slices.DeleteFunc(slices.Clone(names), func(n customerName) bool {
		twice := seen[n] || n.isEmpty()
		seen[n] = true
		return twice
	})
	for part := range slices.Chunk(distinct, namesAtOnce) {
		req := &customerv1.BatchGetCustomersRequest{}
		for _, n := range part {
			if n.id != "" && len(n.id) <= 100 {
				req.Ids = append(req.Ids, n.id)
			}
			if n.id != "" && len(n.id) <= 200 {
				req.References = append(req.References, n.id)
			}
			if n.email != "" && len(n.email) <= 254 {
				req.Emails = append(req.Emails, n.email)
			}
		}
		res, err := r.services.customers.BatchGetCustomers(r.ctx, req)
		if err != nil {
			return known, err
		}
		for _, c := range res.GetCustomers() {
			known.add(c)
		}
	}
	return known, nil
}

func (k knownCustomers) add(c *customerv1.Customer) {
	k.byID[c.GetId()] = c.GetId()
	if c.GetReference() != "" {
		k.byID[c.GetReference()] = c.GetId()
	}
	if email := strings.ToLower(c.GetEmail()); email != "" && !slices.Contains(k.byEmail[email], c.GetId()) {
		k.byEmail[email] = append(k.byEmail[email], c.GetId())
	}
}

// find returns the customer whom a row names by identifier or reference, or else by e-mail address. If there is none,
// it returns the column and the reason.
func (k knownCustomers) find(n customerName) (customer, column, reason string) {
	if customer := k.byID[n.id]; n.id != "" && customer != "" {
		return customer, "", ""
	}
	having := k.byEmail[strings.ToLower(n.email)]
	switch {
	case n.isEmpty():
		return "", n.emailColumn, "no customer: fill in " + n.emailColumn + " or " + n.idColumn
	case n.email == "":
		return "", n.idColumn, "no customer with the identifier or reference " + quoteShort(n.id)
	case len(having) == 0:
		return "", n.emailColumn, "no customer with the e-mail address " + quoteShort(n.email)
	case len(having) > 1:
		return "", n.emailColumn, "several customers with the e-mail address " + quoteShort(n.email) + ": fill in " + n.idColumn
	}
	return having[0], "", ""
}

// quoteShort returns a text in quotes, shortened if it is long.
func quoteShort(text string) string {
	const most = 100
	if letters := []rune(text); len(letters) > most {
		text = string(letters[:most]) + "…"
	}
	return "“" + text + "”"
}
