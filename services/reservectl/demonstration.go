package reservectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"reservation.dev/devkit/credentials"
	"reservation.dev/devkit/demonstration"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

// demonstrationFlags are the directory that the demonstration command writes to, and the
// addresses that it writes into credentials.json.
type demonstrationFlags struct{ dir, interfaceA, interfaceB, dashboard, media string }

func (a *app) demonstrationCommand() *cobra.Command {
	var d demonstrationFlags
	c := &cobra.Command{
		Use: "demonstration", Short: "Create the demonstration company once, and a credentials.json for it", Args: exactly(),
		Long: `demonstration creates the same company as "make run": customers, a year of
classes, passes, bookings, subscriptions, a library of media, staff, rooms and
appointments. It writes the company's API client, API key and owner, and a token
of the operator, to DIR/credentials.json.

DIR/demonstration.json records what was created. If you run the command again, it
creates nothing twice and renews the token.`,
		Example: "  reservectl demonstration --dir .run/demonstration",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.demonstration(c.Context(), d)
		},
	}
	c.Flags().StringVar(&d.dir, "dir", "", "existing directory to write to")
	c.Flags().StringVar(&d.interfaceA, "interface-a", "http://127.0.0.1:8080", "URL at which users reach Interface A")
	c.Flags().StringVar(&d.interfaceB, "interface-b", "http://127.0.0.1:8081/api/v1", "URL at which users reach Interface B")
	c.Flags().StringVar(&d.dashboard, "dashboard", "http://127.0.0.1:8082", "URL at which users reach the dashboard")
	c.Flags().StringVar(&d.media, "media-files", "http://127.0.0.1:8092", "URL at which users reach the files of the media service")
	c.Flags().StringVar(&a.access.Media.BaseURL, "media-url", "", mediaURLUsage)
	return required(c, "dir")
}

func (a *app) demonstration(ctx context.Context, d demonstrationFlags) error {
	file := filepath.Join(d.dir, "demonstration.json")
	st, err := readDemonstration(file)
	if err != nil {
		return err
	}
	platform, closeAll, err := a.demonstrationPlatform(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	if err := platform.Seed(ctx, st, func() error { return credentials.Write(file, st) }); err != nil {
		return err
	}
	raw, _, err := a.token(ctx)
	if err != nil {
		return err
	}
	g := a.access.GRPC
	shown := credentials.File{
		InterfaceA: credentials.InterfaceA{BaseURL: d.interfaceA}, InterfaceB: credentials.InterfaceB{APIBaseURL: d.interfaceB},
		Admin: credentials.Admin{URL: d.dashboard}, Media: credentials.Media{BaseURL: d.media},
		GRPC: credentials.GRPC{
			Auth: g.Auth, Customer: g.Customer, Booking: g.Booking, Pass: g.Pass,
			Subscription: g.Subscription, Media: g.Media, Reports: g.Reports, Webhook: g.Webhook,
			ServiceToken: raw, ServiceCredential: credentials.Credential(g.ServiceCredential),
		},
	}
	st.Show(&shown)
	written := filepath.Join(d.dir, "credentials.json")
	if err := credentials.Write(written, shown); err != nil {
		return err
	}
	return a.printOne(row{{"company_id", st.CompanyID}, {"credentials", written}})
}

// demonstrationPlatform connects to the services as the operator. closeAll closes the connections.
func (a *app) demonstrationPlatform(ctx context.Context) (p *demonstration.Platform, closeAll func(), err error) {
	var sessions []*session
	closeAll = func() {
		for _, s := range sessions {
			s.close()
		}
	}
	// Calls are for the company that the caller names, not for the one in the flags or the file.
	as := func(ctx context.Context, company string) context.Context {
		c, _ := id.Parse[id.Company](company) // "" gives the zero value: no company
		return rpc.As(ctx, token.NewSource(a.token), c)
	}
	var services demonstration.Services
	for _, service := range []struct {
		conn *grpc.ClientConnInterface
		open opener
	}{
		{&services.Auth, a.auth}, {&services.Customer, a.customers}, {&services.Booking, a.bookings}, {&services.Pass, a.passes},
		{&services.Subscription, a.subscriptions}, {&services.Media, a.media},
	} {
		s, err := service.open(ctx)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		sessions = append(sessions, s)
		*service.conn = s.conn
	}
	services.MediaURL = a.access.Media.BaseURL
	return demonstration.On(services, as), closeAll, nil
}

// readDemonstration reads the record of an earlier run. Without one, it returns an empty state.
func readDemonstration(file string) (*demonstration.State, error) {
	st := &demonstration.State{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, st); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return st, nil
}
