// Command lazyfs is a disk for power-cut tests: a FUSE mount that passes reads,
// keeps what was not synced apart, and on a cut drops it or tears it at 512
// bytes. It runs beside the process under test, never in it: a process that
// maps a file which it serves itself waits for itself.
//
// It takes orders on its standard input, a line each, and answers each with a
// line: "cut" (from now on every call fails), "restore drop", "restore torn
// SEED" (over what survived), "lie on", "lie off" (syncs that do nothing). It
// unmounts and ends with its input.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lazyfs MOUNTPOINT")
		os.Exit(2)
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM) // it ends with its input, after the process that uses it
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(path string, orders io.Reader, answers io.Writer) error {
	d := newDisk()
	server, err := mountDisk(path, d)
	if err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	fmt.Fprintln(answers, "mounted")
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		answer, err := d.order(strings.Fields(lines.Text()))
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Fprintln(answers, answer)
	}
	if err := errors.Join(lines.Err(), server.Unmount()); err != nil {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}

var errOrder = errors.New("order not known")

// order carries out one order. Its answer ends with what was counted so far.
func (d *disk) order(words []string) (string, error) {
	switch strings.Join(words[:min(len(words), 2)], " ") {
	case "cut":
		d.cut()
	case "restore drop":
		d.restore(never)
	case "restore torn":
		if len(words) != 3 {
			return "", fmt.Errorf("%w: restore torn SEED", errOrder)
		}
		seed, err := strconv.ParseUint(words[2], 10, 64)
		if err != nil {
			return "", fmt.Errorf("read seed: %w", err)
		}
		d.restore(some(seed))
	case "lie on", "lie off":
		d.mu.Lock()
		d.lies = words[1] == "on"
		d.mu.Unlock()
	default:
		return "", fmt.Errorf("%w: %q", errOrder, words)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("ok syncs=%d lost=%d", d.syncs, d.lost), nil
}
