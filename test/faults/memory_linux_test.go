package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

const (
	few  = 15_000
	many = 6 * few
	// atOnce is the number of readers of each kind: fast readers, and readers that pause until
	// the fast ones are done.
	atOnce = 3
	// room is how much more memory the longer document may take, in bytes. It is a fraction of
	// the additional data that the readers get, about 300 MB. The amount of garbage that is not
	// collected yet varies.
	room = 48 << 20
)

// TestSlowMemory checks that the memory for the list of all customers does not depend on their
// number.
func TestSlowMemory(t *testing.T) {
	cluster := harness.StartCluster(t, harness.ClusterOptions{Durable: pgserver.Fast})
	op := cluster.Operator(t)
	peaks := map[int]map[string]int{}
	for _, n := range []int{few, few, many} { // the first run warms up
		c := op.NewCompany(t, "Europe/London")
		wideCustomers(t, cluster, c.ID, n)
		token := cluster.A(t).Token(t, c.NewClient(t))
		peaks[n] = peak(t, cluster, func() { readAll(t, cluster.BaseURL, token, n) })
	}
	for part, most := range peaks[many] {
		t.Logf("%s: %d MB for %d customers, %d MB for %d", part, peaks[few][part]>>20, few, most>>20, many)
		if most > peaks[few][part]+room {
			t.Errorf("%s grew from %d MB to %d MB with the length of the document", part, peaks[few][part]>>20, most>>20)
		}
	}
}

// readAll reads the list with all readers at the same time. One of them decodes it and checks
// that every customer is in it once. The others must get the same number of bytes.
func readAll(t *testing.T, baseURL, token string, n int) {
	length := &counter{}
	if err := readList(io.TeeReader(openList(t, baseURL, token), length), n); err != nil {
		t.Error(err)
	}
	var fast, slow sync.WaitGroup
	rested := make(chan struct{})
	read := func(body io.Reader) {
		if got, err := io.Copy(io.Discard, body); err != nil || got != length.n {
			t.Errorf("got %d bytes of %d: %v", got, length.n, err)
		}
	}
	for range atOnce {
		one, other := openList(t, baseURL, token), openList(t, baseURL, token)
		fast.Go(func() { read(one) })
		slow.Go(func() {
			<-rested
			read(other)
		})
	}
	fast.Wait()
	close(rested)
	slow.Wait()
}

// counter counts the bytes that are written to it.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// readList reads a document of n customers without keeping it in memory.
func readList(r io.Reader, n int) error {
	decoder := json.NewDecoder(r)
	for range 3 { // {"data":[
		if _, err := decoder.Token(); err != nil {
			return err
		}
	}
	once := make(map[id.Customer]bool, n)
	items := 0
	for ; decoder.More(); items++ {
		var item struct{ ID string }
		if err := decoder.Decode(&item); err != nil {
			return err
		}
		customer, err := id.Parse[id.Customer](item.ID)
		if err != nil {
			return err
		}
		once[customer] = true
	}
	for range 2 { // ]}
		if _, err := decoder.Token(); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the document: %w", err)
	}
	if items != n || len(once) != n {
		return fmt.Errorf("the list has %d items and %d different customers, want %d", items, len(once), n)
	}
	return nil
}

// peak runs f and returns the peak memory of each process during that time, in bytes.
func peak(t *testing.T, cluster *harness.Cluster, f func()) map[string]int {
	t.Helper()
	names := []string{"gateway-a-1", "customer"}
	for _, name := range names {
		// 5 resets the high-water mark to the current memory use.
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", cluster.Part(name).PID()), []byte("5"), 0); err != nil {
			t.Fatal(err)
		}
	}
	f()
	peaks := map[string]int{}
	for _, name := range names {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cluster.Part(name).PID()))
		if err != nil {
			t.Fatal(err)
		}
		_, mark, _ := bytes.Cut(status, []byte("VmHWM:"))
		fields := bytes.Fields(mark)
		if len(fields) == 0 {
			t.Fatalf("no high water mark in %s", status)
		}
		kB, err := strconv.Atoi(string(fields[0]))
		if err != nil {
			t.Fatal(err)
		}
		peaks[name] = kB << 10
	}
	return peaks
}
