package pg_test

import (
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/pg"
)

func TestStandby(t *testing.T) {
	t.Parallel()
	_, primary := testkit.EmptyDB(t)
	standby := fakeStandby(t)
	open := func(t *testing.T, cfg pg.Config) (*pg.DB, error) {
		t.Helper()
		cfg.StartTimeout = patience
		db, err := pg.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Cleanup(db.Close)
		}
		return db, err
	}
	isStandby := func(t *testing.T, db *pg.DB) bool {
		t.Helper()
		conn, err := db.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		return conn.Conn().PgConn().Conn().RemoteAddr().String() == standby
	}
	t.Run("is refused", func(t *testing.T) {
		_, err := pg.Open(t.Context(), pg.Config{URL: config.Secret("postgres://a:b@" + standby + "/c?sslmode=disable"), StartTimeout: time.Millisecond},
			slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "standby") {
			t.Errorf("got %v", err)
		}
	})
	for _, attributes := range []string{"", "primary"} {
		t.Run("is passed over for the next host of the URL, target_session_attrs="+attributes, func(t *testing.T) {
			db, err := open(t, pg.Config{URL: hostList(t, standby, primary, attributes)})
			if err != nil {
				t.Fatal(err)
			}
			if isStandby(t, db) {
				t.Error("connected to the standby")
			}
		})
	}
	t.Run("is used if the file with the URL asks for it later", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "url")
		write := func(attributes string) {
			if err := os.WriteFile(file, []byte(hostList(t, standby, primary, attributes)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("primary")
		db, err := open(t, pg.Config{URL: hostList(t, standby, primary, ""), URLFile: file})
		if err != nil {
			t.Fatal(err)
		}
		write("standby")
		db.Pool().Reset() // closes the connections
		if !isStandby(t, db) {
			t.Error("the change of target_session_attrs had no effect")
		}
	})
}

// hostList returns the URL with another host in front.
func hostList(t *testing.T, host, raw, attributes string) config.Secret {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host + "," + u.Host
	query := u.Query()
	query.Set("sslmode", "disable")
	if attributes != "" {
		query.Set("target_session_attrs", attributes)
	}
	u.RawQuery = query.Encode()
	return config.Secret(u.String())
}

// fakeStandby is a server that answers every query with "t", also whether it is in recovery. It
// returns its address.
func fakeStandby(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go serveStandby(conn)
		}
	}()
	return listener.Addr().String()
}

func serveStandby(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		message, err := b.Receive()
		if err != nil {
			return
		}
		if _, query := message.(*pgproto3.Query); !query {
			return
		}
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("answer"), DataTypeOID: 16}}})
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("t")}})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}
