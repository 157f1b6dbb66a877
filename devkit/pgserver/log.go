package pgserver

import (
	"bytes"
	"os"
	"strings"
	"sync"
)

const (
	// logLimit bounds the size of postgres.log in bytes. postgres.log.1 can be as large.
	logLimit = 4 << 20
	// tailLimit is how many bytes of the log's end are kept for error messages.
	tailLimit = 4 << 10
)

// logFile writes the server's output to a file. Writes never fail, so that a full disk does not
// close the server's standard error.
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

// rotate renames the file to postgres.log.1 and opens a new one.
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

// contains reports whether the log's end contains text.
func (l *logFile) contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.tail, []byte(text))
}
