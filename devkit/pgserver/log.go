package pgserver

import (
	"bytes"
	"os"
	"strings"
	"sync"
)

const (
	// logLimit bounds postgres.log; with the file before it that makes twice as much.
	logLimit = 4 << 20
	// tailLimit is how much of the log's end is kept for error messages.
	tailLimit = 4 << 10
)

// logFile takes what the server says. It never fails: a full disk must not take
// the server's standard error away.
type logFile struct {
	mu    sync.Mutex
	path  string
	limit int64
	file  *os.File // nil if it could not be opened
	size  int64
	tail  []byte
}

// openLog appends to the file at path.
func openLog(path string, limit int64) (*logFile, error) {
	l := &logFile{path: path, limit: limit}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

func (l *logFile) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, text...)
	if excess := len(l.tail) - tailLimit; excess > 0 {
		l.tail = append(l.tail[:0], l.tail[excess:]...)
	}
	if l.size > 0 && l.size+int64(len(text)) > l.limit {
		l.rotate()
	}
	if l.file != nil {
		n, _ := l.file.Write(text)
		l.size += int64(n)
	}
	return len(text), nil
}

// rotate makes the present file the one before.
func (l *logFile) rotate() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	_ = os.Rename(l.path, l.path+".1")
	_ = l.open()
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// last returns the last lines of the log, for an error message.
func (l *logFile) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	const lines = 12
	all := strings.Split(string(bytes.TrimSpace(l.tail)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// said tells whether text stands in the log's end.
func (l *logFile) said(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.tail, []byte(text))
}
