# Prints what is in an archive, by OTF2's own Python module: sums.py ANCHOR. A line for each region: its name, how often
# it was entered, and the time in it.
import collections
import sys

import otf2
from otf2.events import Enter, Leave, MpiIrecv, MpiIsend, MpiRecv, MpiSend

visits, time, messages = collections.Counter(), collections.Counter(), 0
with otf2.reader.open(sys.argv[1]) as trace:
    for location, event in trace.events:
        if isinstance(event, Enter):
            visits[event.region.name] += 1
            time[event.region.name] -= event.time
        elif isinstance(event, Leave):
            time[event.region.name] += event.time
        elif isinstance(event, (MpiSend, MpiIsend, MpiRecv, MpiIrecv)):
            messages += 1
for name in sorted(visits):
    print(name, visits[name], time[name])
print("ends of messages", messages)
