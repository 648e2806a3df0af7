/* Every standard kind once, and kinds of its own with fields of every type, at chosen times.
 * testdata/kinds.txt is the text form of the trace. */
#define WHYSLOW_IMPLEMENTATION
#include "whyslow.h"

int main(void) {
    ws_options o;
    memset(&o, 0, sizeof o);
    o.nodes = 4, o.per_process = 4, o.workers = 2, o.manual = 1, o.no_run_info = 1;
    ws_context *others[3];
    for (; o.node < 3; o.node++) others[o.node] = ws_open(&o);
    ws_context *ctx = ws_open(&o);
    ws_stream *s = ws_stream_open(ctx, 0), *rts = ws_stream_open(ctx, 7);

    ws_name lock = ws_define_name(ctx, "the \"queue\"");
    ws_name a = ws_define_name(ctx, "A");
    ws_code mult = ws_define_code(ctx, "mult", WS_ATOMIC, "prog.c", 10, 5);
    ws_code loop = ws_define_code(ctx, "for_i", WS_FOR, 0, 0, 0);
    ws_site site = ws_define_site(ctx, mult, "c", "prog.c", 20, 3, "mult(a[i], b[i])");
    ws_site fun = ws_define_site(ctx, loop, 0, 0, 0, 0, 0);
    ws_code barrier = ws_define_code(ctx, "shmem_barrier_all", WS_REGION_BARRIER, 0, 0, 0);
    ws_site barrier_site = ws_define_site(ctx, barrier, 0, "prog.c", 30, 0, 0);
    ws_name broadcast = ws_define_name(ctx, "broadcast"), sync = ws_define_name(ctx, "my/no");
    int64_t id[8] = {0, 1, -1, INT64_MAX, INT64_MIN, 5, 6, 7};
    ws_df d[3];
    d[0] = ws_define_df(ctx, a, id, 2);
    d[1] = ws_define_df(ctx, a, id, 8);
    d[2] = ws_define_df(ctx, 0, id, 0);

    ws_cf cf = ws_id(3, 1), parent = ws_id(0, 77);
    ws_message msg = ws_id(3, 9), req = ws_id(65535, ((uint64_t)1 << 48) - 1);
    int64_t indices[6] = {-3, 0, 1, INT64_MAX, INT64_MIN, 9};
    ws_program_started_at(s, 10, 3, 1000);
    ws_cf_created_at(s, 20, cf, site, parent, 2, 0.5, indices, 6);
    ws_cf_created_at(s, 21, ws_id(3, 2), fun, 0, 1, -1e300, indices, 0);
    ws_cf_ready_at(s, 30, cf, -1);
    ws_cf_started_at(s, 40, cf, 1, d, 3);
    ws_cf_finished_at(s, 50, cf, 1, -1);
    ws_cf_waiting_at(s, 60, cf, d, 2);
    ws_cf_migrated_at(s, 70, cf, 65535, 123456789012345, 1);
    ws_cf_stolen_at(s, 80, cf, 1, -5, 2);
    ws_cf_received_at(s, 90, cf, 2, 0, 3);
    ws_cf_destroyed_at(s, 100, cf);
    ws_cf_held_at(s, 110, cf);
    ws_cf_resumed_at(s, 120, cf);
    ws_cf_placed_at(s, 120, cf, -5);
    ws_df_create_at(s, 130, d[0], 8, cf);
    ws_df_requested_at(s, 140, d[1], cf, 2, req);
    ws_df_request_received_at(rts, 150, d[0], 1, req);
    ws_df_sent_at(rts, 160, d[0], 1, 800, msg, req, 0);
    ws_df_received_at(rts, 170, d[1], 2, 800, msg, 0, cf);
    ws_df_stored_at(rts, 180, d[1], 800);
    ws_df_dropped_at(rts, 190, d[1], 800);
    ws_df_destroy_at(rts, 200, d[0], 8, WS_EXPIRED);
    ws_df_destroy_at(rts, 201, d[0], 8, WS_DELETED);
    ws_df_destroy_at(rts, 202, d[0], 8, WS_END);
    ws_df_duplicate_at(rts, 210, d[0], cf, parent);
    ws_df_placed_at(rts, 210, d[0], 7);
    ws_block_started_at(s, 220, fun, 1);
    ws_block_exited_at(s, 230, fun, 2);
    ws_block_waiting_at(s, 240, fun, 3);
    ws_block_migrated_at(s, 250, fun, 4);
    ws_block_continued_at(s, 260, fun, 5);
    ws_foreign_started_at(s, 270, fun);
    ws_foreign_ended_at(s, 280, fun);
    ws_idle_at(s, 290);
    ws_busy_at(s, 300);
    ws_ready_queue_at(rts, 310, 17);
    ws_send_queue_at(rts, 320, 2, 18);
    ws_relations_at(rts, 330, -4, 4);
    ws_clock_sync_at(rts, 340, -1500, 20);
    ws_lost_at(rts, 350, 3, 340, 349, 7);
    ws_wait_started_at(s, 360, lock);
    ws_wait_ended_at(s, 370, lock);
    ws_entered_at(s, 371, barrier_site);
    ws_collective_at(s, 372, broadcast, sync, 1, 2, 3, 5, 64, 32);
    ws_exited_at(s, 373, barrier_site);
    ws_acquired_at(s, 374, 77);
    ws_released_at(s, 375, 77);
    ws_group_at(s, 375, 4, indices + 1, 2);
    ws_blocked_at(s, 375, cf, 5, lock, broadcast, sync, 0);
    ws_thread_time_at(s, 375, 1, 20, 10, 4, 2);
    ws_balanced_at(s, 375, site, 2, 12, 84, 12);
    ws_usage_at(s, 375, 150, 80, 30, 9);
    ws_put_at(s, 376, 2, 4096, 0);
    ws_get_at(s, 377, 1, 8192, 5);
    ws_remote_atomic_at(s, 378, 2, 8);
    ws_completed_at(s, 379, 5);
    ws_sent_at(s, 380, 2, 4096, -7, 1, 6);
    ws_received_at(s, 381, 1, 8192, 8, 2, 3, 50);

    ws_kind all = ws_define_kind(ctx, "My", "onAll",
                                 "i:Int u:Uint f:Float cf:CF df:DF site:Site name:Name node:Node "
                                 "message:Message ns:NS bytes:Bytes reason:Reason list:Ints",
                                 "Fields of every type.");
    ws_kind dfs = ws_define_kind(ctx, "My", "onDFs", "list:DFs", 0);
    ws_kind none = ws_define_kind(ctx, "Other_1", "onNone", "", "No fields.");
    uint64_t w[15] = {(uint64_t)-1, UINT64_MAX, ws_float(1.25), cf, d[2],         site, lock, 65535, req,
                      (uint64_t)-7, 9,          WS_END,         2,  (uint64_t)-8, 8};
    ws_emit_at(s, 400, all, w, 15);
    uint64_t l[6] = {5, d[0], d[1], d[2], d[1], d[0]};
    ws_emit_at(s, 410, dfs, l, 6);
    ws_emit_at(s, 420, none, 0, 0);
    ws_emit_at(s, 430, WS_IDLE, 0, 0);
    ws_emit_at(s, 425, WS_BUSY, 0, 0); /* back in time */
    ws_program_finished_at(s, 500, 2000);
    if (ws_define_kind(ctx, "My", "onDFs", "list:DFs", 0) != dfs) return 2;
    int bad = 0;
    for (int i = 0; i < 3; i++) bad |= ws_close(others[i], WS_DONE, 0, 0);
    return ws_close(ctx, WS_DONE, 0, 0) || bad ? 1 : 0;
}
