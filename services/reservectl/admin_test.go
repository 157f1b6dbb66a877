package reservectl

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// admins is a fake administrator service that records the requests it receives.
type admins struct {
	authv1.UnimplementedAdministratorServiceServer
	created *authv1.CreateAdministratorRequest
	reset   *authv1.ResetAdministratorPasswordRequest
	updated *authv1.UpdateAdministratorRequest
}

func (s *admins) CreateAdministrator(_ context.Context, req *authv1.CreateAdministratorRequest) (*authv1.CreateAdministratorResponse, error) {
	s.created = req
	if req.GetEmail() == "taken@example.com" {
		return nil, fault.Status(fault.Refuse("EMAIL_ALREADY_EXISTS", "another administrator has this e-mail address")).Err()
	}
	res := &authv1.CreateAdministratorResponse{Administrator: &authv1.Administrator{Id: "admin_1", Email: req.GetEmail(), Role: req.GetRole()}}
	if req.GetPassword() == "" {
		res.GeneratedPassword = "made-up"
	}
	return res, nil
}

func (s *admins) ResetAdministratorPassword(_ context.Context, req *authv1.ResetAdministratorPasswordRequest) (*authv1.ResetAdministratorPasswordResponse, error) {
	s.reset = req
	return &authv1.ResetAdministratorPasswordResponse{Administrator: &authv1.Administrator{Id: "admin_1"}, GeneratedPassword: "made-up"}, nil
}

func (s *admins) ListAdministrators(_ context.Context, req *authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
	if req.GetPageToken() == "" {
		return &authv1.ListAdministratorsResponse{NextPageToken: "2", Administrators: []*authv1.Administrator{
			{Id: "admin_1", Email: "Ada@example.com", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER},
		}}, nil
	}
	return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{
		{Id: "admin_2", Email: "bob@example.com", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER, Disabled: true},
	}}, nil
}

func (s *admins) UpdateAdministrator(_ context.Context, req *authv1.UpdateAdministratorRequest) (*authv1.UpdateAdministratorResponse, error) {
	s.updated = req
	return &authv1.UpdateAdministratorResponse{Administrator: &authv1.Administrator{Id: req.GetId(), Disabled: req.GetDisabled()}}, nil
}

func newAdmins(t *testing.T) *admins {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, srv, done := &admins{}, grpc.NewServer(), make(chan struct{})
	authv1.RegisterAdministratorServiceServer(srv, s)
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() { srv.Stop(); <-done })
	w := newWorld(t)
	text, err := json.Marshal(map[string]any{"company_id": companyID, "grpc": map[string]any{"auth": l.Addr().String(), "service_token": rawToken}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RESERVATION_CREDENTIALS", w.write(t, "admins.json", string(text)))
	return s
}

func TestAdmin(t *testing.T) {
	s := newAdmins(t)
	t.Run("create prints a generated password", func(t *testing.T) {
		out := ok(t, "admin", "create", "--email", "ada@example.com", "--name", "Ada")
		if !strings.Contains(out, `"password": "made-up"`) || !strings.Contains(out, `"role": "owner"`) || s.created.GetName() != "Ada" {
			t.Errorf("got %s, sent %v", out, s.created)
		}
	})
	t.Run("create reads a password from standard input and does not print it", func(t *testing.T) { // invariant 2
		r := run(t, "  spaces count \r\nand no second line\n", "admin", "create", "--email", "bob@example.com", "--role", "front-desk", "--password-stdin")
		if r.code != 0 || s.created.GetPassword() != "  spaces count " || strings.Contains(r.out+r.errOut, "spaces count") || !strings.Contains(r.out, `"role": "front-desk"`) {
			t.Errorf("got %+v, sent %v", r, s.created)
		}
	})
	t.Run("create reports wrong input", func(t *testing.T) {
		for _, tt := range []struct {
			args, want string
			code       int
		}{
			{"--role manager", "--email is required", 2},
			{"--email x@example.com --role boss", "must be one of owner, manager, front-desk, teacher", 2},
			{"--email x@example.com --password-stdin", "no password on standard input", 2},
			{"--email taken@example.com", "EMAIL_ALREADY_EXISTS", 1},
		} {
			r := run(t, "\n", append([]string{"admin", "create"}, strings.Fields(tt.args)...)...)
			if r.code != tt.code || !strings.Contains(r.errOut, tt.want) {
				t.Errorf("%s: got %+v", tt.args, r)
			}
		}
	})
	t.Run("create and update link a teacher to a staff member", func(t *testing.T) {
		ok(t, "admin", "create", "--email", "tess@example.com", "--role", "teacher", "--staff", "staff_1")
		if s.created.GetRole() != authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER || s.created.GetStaffId() != "staff_1" {
			t.Errorf("sent %v", s.created)
		}
		ok(t, "admin", "update", "bob@example.com", "--role", "teacher", "--staff", "staff_2")
		if s.updated.GetId() != "admin_2" || s.updated.GetRole() != authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER || s.updated.GetStaffId() != "staff_2" {
			t.Errorf("sent %v", s.updated)
		}
		ok(t, "admin", "update", "bob@example.com", "--role", "manager")
		if s.updated.GetRole() != authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER || s.updated.StaffId != nil {
			t.Errorf("sent %v", s.updated)
		}
		if r := run(t, "", "admin", "update", "bob@example.com"); r.code != 2 || !strings.Contains(r.errOut, "--role or --staff") {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("list prints all pages", func(t *testing.T) {
		out := ok(t, "admin", "list", "--output", "table")
		if !strings.Contains(out, "Ada@example.com") || !strings.Contains(out, "disabled") {
			t.Errorf("got %s", out)
		}
	})
	t.Run("disable and enable accept an e-mail address or an identifier", func(t *testing.T) {
		ok(t, "admin", "disable", "ADA@example.com")
		if s.updated.GetId() != "admin_1" || !s.updated.GetDisabled() {
			t.Errorf("sent %v", s.updated)
		}
		ok(t, "admin", "enable", "admin_2")
		if s.updated.GetId() != "admin_2" || s.updated.Disabled == nil || s.updated.GetDisabled() {
			t.Errorf("sent %v", s.updated)
		}
		if r := run(t, "", "admin", "disable", "nobody@example.com"); r.code != 1 || !strings.Contains(r.errOut, "nobody@example.com") {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("reset-password prints the generated password", func(t *testing.T) {
		out := ok(t, "admin", "reset-password", "ada@example.com", "--disable-totp")
		if !strings.Contains(out, `"password": "made-up"`) || s.reset.GetAdministrator() != "ada@example.com" || !s.reset.GetDisableTotp() {
			t.Errorf("got %s, sent %v", out, s.reset)
		}
	})
}
