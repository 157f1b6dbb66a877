//go:build unix

// Package pgservertest turns on TLS in a private PostgreSQL server, for tests of
// connections to databases.
package pgservertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// RequireTLS gives the server at a superuser's URL a certificate (PEM) and makes it require TLS of
// all roles except the superuser. If it is called again, new connections get the new certificate.
func RequireTLS(ctx context.Context, adminURL string, cert, key []byte) error {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var dir string
	if err := conn.QueryRow(ctx, `show data_directory`).Scan(&dir); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"server.crt": cert, "server.key": key,
		"pg_hba.conf": []byte("hostnossl all postgres 127.0.0.1/32 scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n"),
	} {
		if err := write(dir, name, text); err != nil {
			return err
		}
	}
	for _, statement := range []string{`alter system set ssl = on`, `select pg_reload_conf()`} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// write writes a file into the server's directory, with the server's owner.
func write(dir, name string, text []byte) error {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		return os.Chown(path, int(stat.Uid), int(stat.Gid))
	}
	return nil
}
