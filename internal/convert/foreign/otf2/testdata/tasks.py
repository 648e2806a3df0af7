# Writes an archive of an OpenMP program as Score-P does, with OTF2's own Python module: tasks.py FOLDER.
#
# Serial code, then a region of two threads. Thread 0 creates two tasks in a single construct; thread 1 executes the
# first in the barrier at its end, thread 0 the second, in a taskwait. Then both have a share of a loop and want a
# critical section, which thread 1 waits for. The clock of the second process, which does nothing else, is apart.
import sys

import otf2
from otf2.enums import GroupType, Paradigm, RegionRole

OMP = Paradigm.OPENMP
with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    d = trace.definitions
    host = d.system_tree_node("host", class_name="node", parent=d.system_tree_node("machine"))

    def region(name, line, role):
        return d.region("!$omp %s @p.c:%d" % (name, line), source_file="/src/p.c", begin_line_number=line,
                        region_role=role, paradigm=OMP)

    main = d.region("main")
    work = d.region("work")
    parallel = region("parallel", 9, RegionRole.PARALLEL)
    end = region("implicit barrier", 30, RegionRole.IMPLICIT_BARRIER)
    single = region("single", 10, RegionRole.SINGLE)
    block = region("single sblock", 10, RegionRole.SINGLE_SBLOCK)
    after = region("implicit barrier", 20, RegionRole.IMPLICIT_BARRIER)
    create = region("create task", 12, RegionRole.TASK_CREATE)
    task = region("task", 12, RegionRole.TASK)
    wait = region("taskwait", 15, RegionRole.TASK_WAIT)
    loop = region("for", 22, RegionRole.LOOP)
    critical = region("critical", 25, RegionRole.CRITICAL)
    inside = region("critical sblock", 25, RegionRole.CRITICAL_SBLOCK)

    group = d.location_group("process", system_tree_parent=host)
    locations = [d.location("thread %d" % i, group=group) for i in range(2)]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=OMP, members=locations)
    team = d.comm("team", group=d.group("", group_type=GroupType.COMM_GROUP, paradigm=OMP, members=[0, 1]))
    a, b = (trace.event_writer_from_location(x) for x in locations)

    a.enter(1000, main)
    a.enter(1100, parallel)
    a.thread_fork(1101, OMP, 2)
    a.thread_team_begin(1102, team)
    b.thread_team_begin(1110, team)
    # The construct single.
    a.enter(1120, single)
    a.enter(1121, block)
    for number in 1, 2:
        a.enter(1130 + 10 * number, create)
        a.thread_task_create(1131 + 10 * number, team, 0, number)
        a.leave(1132 + 10 * number, create)
    b.enter(1125, single)
    b.leave(1126, single)
    b.enter(1130, after)
    b.thread_task_switch(1150, team, 0, 1)
    b.enter(1150, task)
    b.enter(1160, work)
    b.leave(1290, work)
    b.leave(1300, task)
    b.thread_task_complete(1300, team, 0, 1)
    b.thread_task_switch(1301, team, 1, 0)
    a.enter(1200, wait)
    a.thread_task_switch(1205, team, 0, 2)
    a.enter(1205, task)
    a.leave(1250, task)
    a.thread_task_complete(1250, team, 0, 2)
    a.thread_task_switch(1251, team, 0, 0)
    a.leave(1310, wait)
    a.leave(1330, block)
    a.leave(1331, single)
    a.enter(1332, after)
    a.leave(1340, after)
    b.leave(1341, after)
    # The loop.
    for w, to in (a, 1400), (b, 1450):
        w.enter(1350, loop)
        w.leave(to, loop)
    # The critical section.
    for w, asks, gets, leaves in (a, 1460, 1460, 1500), (b, 1470, 1501, 1520):
        w.enter(asks, critical)
        w.thread_acquire_lock(gets, OMP, 7, 1)
        w.enter(gets, inside)
        w.leave(leaves, inside)
        w.thread_release_lock(leaves, OMP, 7, 1)
        w.leave(leaves, critical)
    a.enter(1505, end)
    b.enter(1540, end)
    for i, w in enumerate((a, b)):
        w.leave(1545 + i, end)
        w.thread_team_end(1547 + i, team)
    a.thread_join(1560, OMP)
    a.leave(1561, parallel)
    a.leave(1600, main)
