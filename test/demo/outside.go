package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pequod-io/pequod/test/hosts/app"
	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/postgres"
)

// outside is what Actions and Monitors talk to.
type outside struct {
	github *github.Server
	app    *app.App
	// database is nil without PostgreSQL.
	database *postgres.Database
}

// startOutside starts the stand-ins in this process, and PostgreSQL if it is installed. The session
// ends them.
func (s *session) startOutside(ctx context.Context, create createDatabase) (*outside, error) {
	made, err := archive("outputs.json", `{"endpoint": "production-pg.example.com:5432"}`)
	if err != nil {
		return nil, err
	}
	planned, err := archive("outputs.json", `{"changes": 0}`)
	if err != nil {
		return nil, err
	}
	workflow := func(id int64, file string, outputs []byte) github.Workflow {
		return github.Workflow{
			ID: id, File: file, Manual: true, Title: "database ${{ inputs.pequod_run }}", Conclusion: "success", Jobs: 1,
			Inputs:    strings.Fields("name engine engine_version instance_class storage_gb replicas backup_retention_days high_availability pequod_run"),
			Artifacts: map[string][]byte{"pequod-outputs": outputs},
		}
	}
	o := &outside{github: github.Serve(github.Options{Queued: time.Second, Running: 2 * time.Second},
		workflow(1, "database.yaml", made), workflow(2, "plan.yaml", planned))}
	s.stops = append(s.stops, func() error { o.github.Close(); return nil })
	if o.app, err = app.Serve(8080); err != nil { // the default port of TargetApps
		return nil, err
	}
	s.stops = append(s.stops, func() error { o.app.Close(); return nil })
	o.database, err = create(ctx)
	switch {
	case errors.Is(err, postgres.ErrMissing):
		return o, nil
	case err != nil:
		return nil, err
	}
	s.stops = append(s.stops, o.database.Close)
	return o, s.write("url.txt", o.database.URL+"\n")
}

// archive returns a zip with one file.
func archive(name, text string) ([]byte, error) {
	var data bytes.Buffer
	z := zip.NewWriter(&data)
	f, err := z.Create(name)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write([]byte(text)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}
