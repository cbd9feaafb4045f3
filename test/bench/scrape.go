package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// series are what /metrics says, by name and labels.
type series map[string]float64

// scrape reads the metrics of the names, or all.
func (c *controller) scrape(ctx context.Context, names ...string) (series, error) {
	query := url.Values{"name[]": names}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.metrics+"/metrics?"+query, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s", answer.Status)
	}
	all := series{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %s: %w", line, err)
		}
		all[line[:space]] = value
	}
	return all, lines.Err()
}

// sum adds up all series of a name.
func (s series) sum(name string) float64 {
	sum := 0.0
	for series, value := range s {
		if labels, ok := strings.CutPrefix(series, name); ok && (labels == "" || labels[0] == '{') {
			sum += value
		}
	}
	return sum
}
