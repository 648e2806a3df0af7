
/* ---- Sending to a collector -----------------------------------------------------------------------
 *
 * WHYSLOW_TO=HOST:PORT sends the trace, while it grows, to a collector (whyslow serve). The program `whyslow
 * send` does that: it knows the protocol, tokens and TLS, and goes on after a break. It is started beside the
 * program, in a process group of its own, so that Ctrl+C leaves it the time for the rest. Its standard input
 * is a pipe that ends when this process does, even by kill -9. */

extern __attribute__((visibility("default"))) char **environ;

static const char *wsi_env(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : 0;
}

static void wsi_send_start(ws_context *ctx) {
    const char *to = wsi_env("WHYSLOW_TO");
    const char *command = wsi_env("WHYSLOW_COMMAND") ? wsi_env("WHYSLOW_COMMAND") : "whyslow";
    char node[16];
    int ends[2];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    if (!to) return;
    snprintf(node, sizeof node, "%d", ctx->node);
    /* The processes of a run send a node's file each: they may be on hosts with folders of their own. */
    const char *argv[] = {"whyslow", "send",     "--quiet", "--until-eof", "--to", to,
                          ctx->dir,  "--node", node,      0};
    if (ctx->nodes == 1) argv[7] = 0;
    if (pipe(ends)) {
        wsi_fail(ctx, "WHYSLOW_TO=%s: %s; nothing is sent", to, strerror(errno));
        return;
    }
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    if (ends[0] != 0) posix_spawn_file_actions_addclose(&files, ends[0]);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int err = posix_spawnp(&ctx->sender, command, &files, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    if (!err) {
        ctx->sends = 1;
        ctx->alive = ends[1];
        return;
    }
    ctx->sender = 0;
    close(ends[1]);
    if (!ctx->quiet)
        fprintf(stderr,
                "whyslow: WHYSLOW_TO=%s: %s cannot be started (%s), so nothing is sent; set WHYSLOW_COMMAND "
                "to the path of whyslow\n",
                to, command, strerror(err));
}

/* wsi_send_end tells the sender that the trace is complete, and waits until it has sent the rest or has given
 * up. */
static void wsi_send_end(ws_context *ctx) {
    int status;
    if (!ctx->sends) return;
    ctx->sends = 0;
    close(ctx->alive);
    while (waitpid(ctx->sender, &status, 0) < 0 && errno == EINTR) {
    }
}
