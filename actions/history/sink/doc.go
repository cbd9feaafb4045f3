// Package sink has the controller that stores the history of graphs and Actions and the Events
// about them in PostgreSQL.
//
// It is level-triggered: an object whose status changes is read from the cache, and the rows that
// its status has and the database may lack are inserted. So there is no queue of rows: while the
// database is away, the names of objects wait in a circuit, one of them tries again, and their
// status is the buffer. Rows that left the
// status meanwhile are counted as missed. Only of deleted objects, whose status is gone, rows are
// kept in memory, up to a limit.
//
// [Setup] is the entry point. Neither the applier nor the controller of Actions waits for it.
package sink
