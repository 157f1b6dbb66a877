package reservectl

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/enum"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func (a *app) planImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import plans from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import plans from a CSV or NDJSON file.

A plan is known by its title. A plan whose title exists stays unchanged, so you
can run the same command again after a failure. Refused lines are written to a
report, and all others are stored; the exit status is then 3. Correct the report
and import it like any other file.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  title                 required
  interval              required: week, month or year
  interval_count        number of intervals of a period (default: 1)
  price                 in pence or cents, tax included (default: 0)
  currency              ISO 4217 (default: the company's)
  description           optional
  bookings              none, credits or unlimited (default: credits if there are
                        credits, or else none)
  credits               credits of a period
  max_rollover          unused credits that move to the next period (default: 0)
  trial_days            days of the trial (default: 0)
  minimum_periods       paid periods before the subscription can end (default: 0)
  eligible_event_types  types of events that the plan pays for, separated by
                        semicolons, or as an array (default: all)
  collections           titles or col_ identifiers of media collections, separated
                        by semicolons, or as an array`,
		Example: `  reservectl plan import --company comp_… plans.csv`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.importPlans(c.Context(), args[0], o)
		},
	}
	importFlags(c, &o)
	return c
}

// planLine is a plan of a file. Its media collections are titles or identifiers.
type planLine struct {
	*subscriptionv1.CreatePlanRequest
	collections []string
}

// planColumns are the columns of a CSV file of plans.
func planColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{{"title"}, {"interval", "intervalunit"}},
		Optional: []string{
			"intervalcount", "price", "currency", "description", "bookings", "credits", "maxrollover", "trialdays", "minimumperiods",
			"eligibleeventtypes", "collections", "collection",
		},
	}
}

func readPlan(f *lineFields) planLine {
	p := &subscriptionv1.CreatePlanRequest{
		Title: f.text("title"), Description: f.text("description"), Currency: f.text("currency"),
		IntervalCount: f.small("interval_count"), TrialDays: f.small("trial_days"), MinimumPeriods: f.small("minimum_periods"),
		Bookings: subscriptionv1.PlanBookings(f.choice("bookings", enum.Names[subscriptionv1.PlanBookings]())),
		Credits:  f.small("credits"), MaxRollover: f.small("max_rollover"), EligibleEventTypes: f.list("eligible_event_types"),
	}
	interval := "interval"
	if f.value([]string{interval}) == nil {
		interval = "interval_unit"
	}
	p.IntervalUnit = subscriptionv1.IntervalUnit(f.choice(interval, enum.Names[subscriptionv1.IntervalUnit]()))
	if price := f.integer("price", math.MaxInt64); price != nil {
		p.Price = *price
	}
	return planLine{p, f.list("collections", "collection")}
}

func (a *app) importPlans(ctx context.Context, path string, o importOptions) error {
	in, rep, err := a.openImport(path, o, planColumns())
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	s, err := a.forCompany(a.subscriptions)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	collections := &collectionIndex{open: a.media}
	defer collections.close()
	i := planImporter{ctx: s.ctx, client: subscriptionv1.NewPlanServiceClient(s.conn), collections: collections}
	plans, err := fetchPlans(i.ctx, i.client)
	if err != nil {
		return err
	}
	i.plans = plans
	sum, err := importAll(s.ctx, lineReader(in, []string{"title"}, readPlan), itemByItem(i.store), rep, a.progress("plans", 0))
	return a.finish("plans", sum, err)
}

// planImporter stores the plans of a file.
type planImporter struct {
	ctx         context.Context
	client      subscriptionv1.PlanServiceClient
	plans       planIndex
	collections *collectionIndex
}

func (i planImporter) store(line planLine) (outcome, error) {
	if len(i.plans.byTitle[line.GetTitle()]) > 0 {
		return outcome{}, nil
	}
	for _, named := range line.collections {
		id, err := i.collections.find(i.ctx, named)
		if err != nil {
			return outcome{}, err
		}
		line.MediaCollectionIds = append(line.MediaCollectionIds, id)
	}
	res, err := i.client.CreatePlan(i.ctx, line.CreatePlanRequest)
	if err != nil {
		return outcome{}, err
	}
	i.plans.add(res.GetPlan())
	return outcome{created: true}, nil
}

// planIndex has the plans of a company, by title and by identifier.
type planIndex struct {
	byTitle map[string][]*subscriptionv1.Plan
	byID    map[string]bool
}

func (x planIndex) add(p *subscriptionv1.Plan) {
	x.byTitle[p.GetTitle()] = append(x.byTitle[p.GetTitle()], p)
	x.byID[p.GetId()] = true
}

// find returns the identifier of the plan with a title or an identifier. If several plans have the title, it
// returns the active one.
func (x planIndex) find(named string) (string, error) {
	if x.byID[named] {
		return named, nil
	}
	found := x.byTitle[named]
	if len(found) > 1 {
		active := found[:0:0]
		for _, p := range found {
			if p.GetStatus() == subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE {
				active = append(active, p)
			}
		}
		found = active
	}
	switch {
	case len(found) == 1:
		return found[0].GetId(), nil
	case len(x.byTitle[named]) > 1:
		return "", refusal{"plan", "unique", fmt.Sprintf("is the title of %d plans: give the identifier (plan_…)", len(x.byTitle[named]))}
	}
	return "", refusal{"plan", "exists", "does not exist"}
}

func fetchPlans(ctx context.Context, client subscriptionv1.PlanServiceClient) (planIndex, error) {
	x := planIndex{map[string][]*subscriptionv1.Plan{}, map[string]bool{}}
	plans, err := allPages(func(pageToken string) ([]*subscriptionv1.Plan, string, error) {
		res, err := client.ListPlans(ctx, &subscriptionv1.ListPlansRequest{PageSize: pageSize, PageToken: pageToken})
		return res.GetPlans(), res.GetNextPageToken(), err
	})
	for _, p := range plans {
		x.add(p)
	}
	return x, err
}

// collectionIndex finds the media collections of a company by title. It fetches them when it is first
// used.
type collectionIndex struct {
	open    opener
	session *session
	client  mediav1.MediaServiceClient
	ids     map[string]string // by title
	known   map[string]bool   // identifiers
}

func (x *collectionIndex) load(ctx context.Context) error {
	if x.ids != nil {
		return nil
	}
	if x.session == nil {
		s, err := x.open(ctx)
		if err != nil {
			return err
		}
		x.session, x.client = s, mediav1.NewMediaServiceClient(s.conn)
	}
	all, err := allPages(func(pageToken string) ([]*mediav1.Collection, string, error) {
		res, err := x.client.ListCollections(x.session.ctx, &mediav1.ListCollectionsRequest{PageSize: pageSize, PageToken: pageToken})
		return res.GetCollections(), res.GetNextPageToken(), err
	})
	if err != nil {
		return err
	}
	x.ids, x.known = map[string]string{}, map[string]bool{}
	for _, c := range all {
		if x.known[c.GetId()] = true; x.ids[c.GetTitle()] == "" {
			x.ids[c.GetTitle()] = c.GetId()
		}
	}
	return nil
}

// find returns the identifier of the collection with a title or an identifier.
func (x *collectionIndex) find(ctx context.Context, named string) (string, error) {
	if err := x.load(ctx); err != nil {
		return "", err
	}
	switch {
	case x.known[named]:
		return named, nil
	case x.ids[named] != "":
		return x.ids[named], nil
	}
	return "", refusal{"collections", "exists", fmt.Sprintf("%q does not exist", named)}
}

// findOrCreate is find, but creates a collection for a title that no collection has.
func (x *collectionIndex) findOrCreate(ctx context.Context, named string) (string, error) {
	id, err := x.find(ctx, named)
	if err == nil || x.ids == nil {
		return id, err
	}
	res, err := x.client.CreateCollection(x.session.ctx, &mediav1.CreateCollectionRequest{Title: named})
	if err != nil {
		return "", err
	}
	id = res.GetCollection().GetId()
	x.ids[named], x.known[id] = id, true
	return id, nil
}

func (x *collectionIndex) close() {
	if x.session != nil {
		x.session.close()
	}
}
