package reservectl

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// commands returns all commands below c, by the words that call them.
func commands(c *cobra.Command, words ...string) map[string]*cobra.Command {
	all := map[string]*cobra.Command{strings.Join(words, " "): c}
	for _, sub := range c.Commands() {
		for name, command := range commands(sub, append(append([]string{}, words...), sub.Name())...) {
			all[name] = command
		}
	}
	return all
}

func TestHelp(t *testing.T) {
	all := commands(newRoot(nil, nil, nil))
	if len(all) < 15 {
		t.Fatalf("%d commands", len(all))
	}
	for name, c := range all {
		t.Run("reservectl "+name+" has help with an example", func(t *testing.T) {
			out := ok(t, append(strings.Fields(name), "--help")...)
			if c.Short == "" || !strings.Contains(out, "Usage:") || !strings.Contains(out, "Examples:\n  reservectl ") {
				t.Errorf("got %s", out)
			}
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" {
					t.Errorf("--%s has no help", f.Name)
				}
			})
		})
	}
	t.Run("help prints no secret from the environment", func(t *testing.T) {
		t.Setenv("RESERVATION_TOKEN", rawToken)
		for name := range all {
			if out := ok(t, append(strings.Fields(name), "--help")...); strings.Contains(out, rawToken) {
				t.Errorf("%q: %s", name, out)
			}
		}
	})
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		t.Run("prints the completion script for "+shell, func(t *testing.T) {
			if out := ok(t, "completion", shell); !strings.Contains(out, "reservectl") || len(out) < 1000 {
				t.Errorf("got %s", out)
			}
		})
	}
	for _, tt := range []struct{ typed, want string }{
		{"client create --scopes ", "customers:read\nprofile:read\nprofile:write\nbookings:read\npasses:read\nnotes:read\nnotes:write\nsubscriptions:read\nmedia:read\nappointments:read\n:4"},
		{"company create --currency ", "GBP\nEUR\nUSD\nAUD\nCAD\nCHF\nCZK\nDKK\nHKD\nNOK\nNZD\nPLN\nSEK\nSGD\nZAR\n:4"},
		{"company create --timezone Eur", "Europe/"},
		{"customer import ", "csv\nndjson\njsonl\njson\n:8"},
		{"transaction import x.csv ", ":4"},
		{"customer import --format ", "csv\nndjson\n:4"},
		{"subscription import ", "csv\nndjson\njsonl\njson\n:8"},
		{"--output ", "auto\njson\ntable\n:4"},
		{"client rot", "rotate"},
	} {
		t.Run("completes "+tt.typed, func(t *testing.T) {
			words := strings.Split(tt.typed, " ")
			if out := ok(t, append([]string{"__complete"}, words...)...); !strings.Contains(out, tt.want) {
				t.Errorf("got %q, want %q", out, tt.want)
			}
		})
	}
}

// TestUsage is invariant 5: it checks the exit status and the message of wrong commands.
func TestUsage(t *testing.T) {
	w := newWorld(t)
	file := w.write(t, "x.csv", "")
	for _, tt := range []struct {
		name, args, want string
		code             int
	}{
		{"an unknown command", "frobnicate", `unknown command "frobnicate"`, 2},
		{"an unknown command of a group", "client frobnicate", "unknown command", 2},
		{"an unknown flag", "company list --frobnicate", "unknown flag: --frobnicate; see reservectl company list --help", 2},
		{"all missing flags at the same time", "company create --name X", "--timezone is required\n--currency is required", 2},
		{"a missing argument", "client rotate", "expected CLIENT_ID, got 0 arguments; see reservectl client rotate --help", 2},
		{"an unexpected argument", "company list x", `unexpected argument "x"`, 2},
		{"an unknown output format", "company list -o xml", "json, table or auto", 2},
		{"an invalid company identifier", "client list --company nonsense", "comp_…", 2},
		{"days that are not a number", "client create --name X --scopes a --expires-days soon", "--expires-days", 2},
		{"days that overflow", "client create --name X --scopes a --expires-days 99999999999", "--expires-days", 2},
		{"a negative number of customers", "seed --customers -1", "must not be negative", 2},
		{"bookings without customers", "seed --customers 0 --bookings 5", "need customers", 2},
		{"a file of an unknown format", "customer import customers.xlsx", "--format csv or ndjson", 2},
		{"an unknown format", "customer import --format xml " + file, "must be csv or ndjson", 2},
		{"a file that does not exist", "customer import nowhere.csv", "nowhere.csv", 1},
		{"a report that would overwrite the imported file", "customer import --refused " + file + " " + file, "give another file", 2},
	} {
		t.Run("reports "+tt.name, func(t *testing.T) {
			r := run(t, "", strings.Fields(tt.args)...)
			if r.code != tt.code || !strings.HasPrefix(r.errOut, "reservectl: ") || !strings.Contains(r.errOut, tt.want) || r.out != "" {
				t.Errorf("exit status %d, %q, %q", r.code, r.out, r.errOut)
			}
		})
	}
}

// TestOutput is invariant 1: it checks the output as JSON and as a table.
func TestOutput(t *testing.T) {
	w := newWorld(t)
	t.Run("JSON prints names without escapes", func(t *testing.T) {
		out := ok(t, "company", "list")
		if !strings.Contains(out, `"name": "Jóga & Þór 瑜伽"`) || !json.Valid([]byte(out)) {
			t.Errorf("got %s", out)
		}
	})
	t.Run("a table has a header and a line for each row", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(ok(t, "company", "list", "-o", "table")), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "ID") || !strings.Contains(lines[1], "Jóga & Þór 瑜伽") {
			t.Errorf("got %q", lines)
		}
	})
	t.Run("all pages of a list are printed", func(t *testing.T) {
		w.companies = append(w.companies, w.companies[0], w.companies[0])
		var list []any
		if err := json.Unmarshal([]byte(ok(t, "company", "list")), &list); err != nil || len(list) != 3 {
			t.Errorf("got %v, %v", list, err)
		}
	})
	t.Run("an empty result is an empty list, or a message instead of a table", func(t *testing.T) {
		w.companies = nil
		if out := ok(t, "company", "list"); out != "[]\n" {
			t.Errorf("got %q", out)
		}
		if r := run(t, "", "company", "list", "-o", "table"); r.code != 0 || r.out != "" || !strings.Contains(r.errOut, "no companies yet") {
			t.Errorf("got %+v", r)
		}
	})
}

func TestCompany(t *testing.T) {
	w := newWorld(t)
	t.Run("create keeps a name in any script unchanged", func(t *testing.T) {
		out := ok(t, "company", "create", "--name", "Ёга «Ом» 🧘", "--timezone", "Asia/Tokyo", "--currency", "EUR")
		if w.made.GetName() != "Ёга «Ом» 🧘" || !strings.Contains(out, "Ёга «Ом» 🧘") || !strings.Contains(out, companyID) {
			t.Errorf("sent %v, printed %s", w.made, out)
		}
	})
	for typed, want := range map[string]string{
		"europe/london": "did you mean Europe/London?", "London": "did you mean Europe/London?", "new york": "did you mean America/New_York?",
		"Buenos Aires": "did you mean America/Buenos_Aires?", "utc": "did you mean UTC?", "Europe/Atlantis": "(VALIDATION_ERROR)\n",
	} {
		t.Run("create reports all wrong flags, with a suggestion for "+typed, func(t *testing.T) {
			r := run(t, "", "company", "create", "--name", "refused", "--timezone", typed, "--currency", "XYZ")
			if r.code != 1 || !strings.Contains(r.errOut, want) || !strings.Contains(r.errOut, "currency must be GBP, EUR, USD, AUD") {
				t.Errorf("exit status %d: %s", r.code, r.errOut)
			}
		})
	}
}

// TestSecrets is invariant 2: it checks which commands print secrets.
func TestSecrets(t *testing.T) {
	w := newWorld(t)
	t.Run("create prints a new client's secret", func(t *testing.T) {
		if out := ok(t, "client", "create", "--name", "Þ & co", "--scopes", "a,b"); !strings.Contains(out, secret) {
			t.Errorf("got %s", out)
		}
		if w.client.ExpiresAfterDays != nil || len(w.client.GetScopes()) != 2 || w.client.GetName() != "Þ & co" {
			t.Errorf("sent %v", w.client)
		}
	})
	t.Run("create leaves the check of days to the service", func(t *testing.T) {
		for _, days := range []string{"0", "-5"} {
			ok(t, "client", "create", "--name", "X", "--scopes", "a", "--expires-days="+days)
			if w.client.ExpiresAfterDays == nil {
				t.Errorf("%s days were not sent", days)
			}
		}
	})
	t.Run("lists and errors print no secret", func(t *testing.T) {
		for _, args := range []string{"client list", "client list -o table", "client disable m2m_1", "company create --name refused --timezone x --currency y"} {
			r := run(t, "", strings.Fields(args)...)
			for _, hidden := range []string{secret, rawToken} {
				if strings.Contains(r.out+r.errOut, hidden) {
					t.Errorf("%s: %s %s", args, r.out, r.errOut)
				}
			}
		}
	})
}

func TestRotateAndUpdate(t *testing.T) {
	w := newWorld(t)
	t.Run("rotate sends the overlap and prints when the previous secret ends", func(t *testing.T) {
		out := ok(t, "client", "rotate", "m2m_1", "--overlap-days", "2")
		if w.rotated.GetOverlapDays() != 2 || w.rotated.GetForce() || !strings.Contains(out, `"previous_secret_expires_at": "2026-03-31T09:30:00Z"`) {
			t.Errorf("sent %v, printed %s", w.rotated, out)
		}
		out = ok(t, "client", "rotate", "m2m_1", "--force")
		if w.rotated.GetOverlapDays() != 0 || !w.rotated.GetForce() || !strings.Contains(out, `"previous_secret_expires_at": null`) {
			t.Errorf("sent %v, printed %s", w.rotated, out)
		}
	})
	t.Run("update sends only the flags that are given", func(t *testing.T) {
		for args, want := range map[string]*authv1.UpdateApiClientRequest{
			"--name CRM":                           {Name: proto.String("CRM")},
			"--network 10.0.0.0/8,::1 --network x": {AllowedNetworks: &authv1.AllowedNetworks{Values: []string{"10.0.0.0/8", "::1", "x"}}},
			"--network=":                           {AllowedNetworks: &authv1.AllowedNetworks{}},
			"--rate-limit 0 --scopes notes:read":   {RateLimit: proto.Int32(0), Scopes: []string{"notes:read"}},
		} {
			want.Id = "m2m_1"
			ok(t, append([]string{"client", "update", "m2m_1"}, strings.Fields(args)...)...)
			if !proto.Equal(w.changed, want) {
				t.Errorf("%s: sent %v, want %v", args, w.changed, want)
			}
		}
	})
	t.Run("create sends the networks", func(t *testing.T) {
		ok(t, "client", "create", "--name", "X", "--scopes", "notes:read", "--network", "10.0.0.0/8")
		if got := w.client.GetAllowedNetworks(); len(got) != 1 || got[0] != "10.0.0.0/8" {
			t.Errorf("sent %v", got)
		}
	})
}

func TestCredentials(t *testing.T) {
	w := newWorld(t)
	good, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	private := w.write(t, "private.json", string(good))
	if err := os.Chmod(private, 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file, want string
		code             int
	}{
		{"not given", "", "set RESERVATION_CREDENTIALS or --credentials", 2},
		{"missing", filepath.Join(w.dir, "nowhere.json"), "nowhere.json does not exist; it exists while the platform runs", 1},
		{"not readable", private, "no permission to read", 1},
		{"a directory", w.dir, "is a directory", 1},
		{"empty", w.write(t, "empty.json", ""), "is not a credentials.json", 1},
		{"truncated", w.write(t, "cut.json", string(good[:len(good)-9])), "is not a credentials.json", 1},
		{"something else", w.write(t, "else.json", `{"secret":"`+secret+`"}`), "has neither grpc.service_token nor", 1},
		{"of a platform that has stopped", w.write(t, "gone.json", `{"company_id":"`+companyID+`","grpc":{"auth":"127.0.0.1:1","service_token":"`+rawToken+`"}}`), "UNAVAILABLE", 1},
		{"without the service's address", w.write(t, "part.json", `{"grpc":{"customer":"127.0.0.1:1","service_token":"`+rawToken+`"}}`), "no address of the auth service", 2},
	} {
		t.Run("reports a credentials.json that is "+tt.name, func(t *testing.T) {
			if tt.file == private && os.Geteuid() == 0 {
				return // root can read everything; the end-to-end tests run as another user
			}
			t.Setenv("RESERVATION_CREDENTIALS", tt.file)
			r := run(t, "", "company", "list")
			if r.code != tt.code || !strings.Contains(r.errOut, tt.want) || strings.Contains(r.errOut, secret) || strings.Contains(r.errOut, rawToken) {
				t.Errorf("exit status %d: %s", r.code, r.errOut)
			}
		})
	}
	t.Run("a flag overrides the environment", func(t *testing.T) {
		t.Setenv("RESERVATION_CREDENTIALS", filepath.Join(w.dir, "nowhere.json"))
		ok(t, "company", "list", "--credentials", w.file)
	})
	t.Run("a token from the environment and an address replace the file", func(t *testing.T) {
		var f access
		if err := json.Unmarshal(good, &f); err != nil {
			t.Fatal(err)
		}
		t.Setenv("RESERVATION_CREDENTIALS", "")
		t.Setenv("RESERVATION_TOKEN", rawToken)
		ok(t, "company", "list", "--auth", f.GRPC.Auth)
	})
}

func TestExplain(t *testing.T) {
	lost := fault.From(grpcstatus.Error(codes.Unavailable, "tls: first record does not look like a TLS handshake"))
	answered := fault.From(fault.Status(fault.Away(errors.New("dial tcp 10.0.0.1:5432"))).Err())
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{labelledError{lost, "pass"}, []string{"pass: the service is temporarily unavailable", "check that the platform is running at this address: ", "TLS handshake"}},
		{answered, []string{"the service is temporarily unavailable", "the service is running, but something that it depends on does not respond"}},
		{labelledError{errors.New("no such file"), "webhook"}, []string{"webhook: no such file"}},
	} {
		got := explain(tt.err)
		for i, want := range tt.want {
			if at := strings.Index(got, want); at < 0 || i == 0 && at != 0 {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if strings.Contains(got, "10.0.0.1") {
			t.Errorf("got %q", got)
		}
	}
}

// TestReadme checks that the README lists every command.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{} // "event list"
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.ReplaceAll(line, "`", ""), "|")
		if len(cells) != 5 {
			continue
		}
		for group := range strings.SplitSeq(cells[1], ",") {
			for word := range strings.SplitSeq(cells[2], ",") {
				listed[strings.TrimSpace(strings.TrimSpace(group)+" "+strings.TrimSpace(word))] = true
			}
		}
	}
	delete(listed, "command with") // the header
	delete(listed, "--- ---")
	for words, c := range commands(newRoot(nil, nil, nil)) {
		if !c.HasSubCommands() && words != "" && !listed[words] {
			t.Errorf("README.md does not list %q", words)
		}
		delete(listed, words)
	}
	for words := range listed {
		t.Errorf("README.md lists %q, which is not a command", words)
	}
}
