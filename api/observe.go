package api

import "net/http"

// knownMethod keeps what clients invent out of labels.
func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return m
	}
	return "OTHER"
}

// recorder remembers the status that was answered.
type recorder struct {
	http.ResponseWriter
	code int
}

func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) status() int {
	if w.code == 0 {
		return http.StatusOK
	}
	return w.code
}

// Ops are the operations that Observer.Wrote counts.
func Ops() []string {
	return []string{"put", "create", "status", "delete", "teardown", "destroy", "release", "claim"}
}

// Results are what writes come to: ok, conflict (another write or holder came
// first), rejected (the request is at fault) and error (the node is).
func Results() []string { return []string{"ok", "conflict", "rejected", "error"} }

func resultOf(status int) string {
	switch {
	case status < http.StatusBadRequest:
		return "ok"
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return "conflict"
	case status < http.StatusInternalServerError:
		return "rejected"
	}
	return "error"
}
