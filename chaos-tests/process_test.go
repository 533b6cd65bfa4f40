package chaos

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program under test: it is started again and again, and every
// process of its group ends with the test.
type process struct {
	t       *testing.T
	name    string
	program string   // its path
	wrap    []string // what it is run under: a tracer, a network namespace
	args    []string
	env     []string // beside the test's own
	log     *os.File
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // how it ended, once done is closed
}

func newProcess(t *testing.T, label, program string, args ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), label+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: label, program: filepath.Join(binaries, program), args: args, log: log}
	t.Cleanup(func() {
		p.kill()
		log.Close()
		if t.Failed() {
			lines := strings.Split(p.said(), "\n")
			t.Logf("last lines of %s:\n%s", label, strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	})
	return p
}

// launch starts it in a group of its own that does not outlive this process.
func (p *process) launch() {
	p.t.Helper()
	line := append(append(append([]string{}, p.wrap...), p.program), p.args...)
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	done := make(chan struct{})
	p.done = done
	go func(cmd *exec.Cmd) {
		p.err = cmd.Wait()
		close(done)
	}(p.cmd)
}

// signal sends a signal to the process and its children.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.t.Fatalf("signal %s: %v", p.name, err)
	}
}

// kill ends the process where it stands. One that is gone already is fine.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.done
	p.cmd = nil
}

// ended waits for the process to end by itself and tells whether it did.
func (p *process) ended(within time.Duration) bool {
	if p.cmd == nil {
		return true
	}
	select {
	case <-p.done:
		p.cmd = nil
		return true
	case <-time.After(within):
		return false
	}
}

// stop ends the process in order and expects it to say so.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if !p.ended(30 * time.Second) {
		p.t.Fatalf("%s does not end on SIGTERM", p.name)
	}
	if p.err != nil {
		p.t.Errorf("%s ended with %v", p.name, p.err)
	}
}

// said is all that the process wrote so far.
func (p *process) said() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

// shortDir is a temporary directory with a name short enough for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sync.OnceFunc(func() { os.RemoveAll(dir) }))
	return dir
}
