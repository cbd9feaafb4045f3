// Package observe has the cache of what pequod-actions reads to report it elsewhere: graphs and
// Events about objects of Pequod, for the history in PostgreSQL, notifications and traces. They
// share one watch of each kind. Another one is of Events about instances of platforms, for notifications.
//
// [Cache], [InstanceEvents] and [Controller] are the entry points.
package observe
