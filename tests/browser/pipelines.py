"""Runs with a pipeline for tests of pages: orders of work per rank, laid out in time by what they
wait for. Not the program's schedules: small ones of the same shapes.
"""
from make_page import OF_CODE, RunBuilder

TICKS = {"F": 1000, "B": 2000, "I": 1000, "W": 1000, "O": 500}
TRANSFER = 100


def one_f_one_b(ranks, microbatches):
    orders = []
    for rank in range(ranks):
        warm = min(ranks - 1 - rank, microbatches)
        order = [[("F", m, rank)] for m in range(warm)]
        for m in range(warm, microbatches):
            order += [[("F", m, rank)], [("B", m - warm, rank)]]
        order += [[("B", m, rank)] for m in range(microbatches - warm, microbatches)]
        orders.append(order + [[("O", 0, rank)]])
    return orders


def gpipe(ranks, microbatches):
    return [[[("F", m, r)] for m in range(microbatches)] +
            [[("B", m, r)] for m in range(microbatches)] + [[("O", 0, r)]] for r in range(ranks)]


def zero_bubble(ranks, microbatches):
    """1F1B with every backward in two halves, W a little later."""
    orders = []
    for order in one_f_one_b(ranks, microbatches):
        halves, waiting = [], []
        for cell in order:
            code, m, rank = cell[0]
            if code == "B":
                halves.append([("I", m, rank)])
                waiting.append([("W", m, rank)])
                if len(waiting) > ranks - 1 - rank:
                    halves.append(waiting.pop(0))
            else:
                halves += (waiting if code == "O" else []) + [cell]
                waiting = [] if code == "O" else waiting
        orders.append(halves)
    return orders


def two_chunks(ranks, microbatches):
    """A V of 2 × ranks stages; forwards of one chunk overlapped with backwards of the other."""
    orders = []
    for rank in range(ranks):
        low, high = rank, 2 * ranks - 1 - rank
        order = [[("F", 0, low)], [("F", 0, high)]]
        for m in range(1, microbatches):
            order += [[("F", m, low), ("B", m - 1, high)], [("F", m, high)], [("B", m - 1, low)]]
        order += [[("B", microbatches - 1, high)], [("B", microbatches - 1, low)], [("O", 0, rank)]]
        orders.append(order)
    return orders


def needs(work, last_stage):
    code, m, stage = work
    if code == "F":
        return [("F", m, stage - 1)] if stage > 0 else []
    if code in "BI":
        after = [(c, m, stage + 1) for c in "BI"] if stage < last_stage else []
        return [("F", m, stage), *after]
    return [("I", m, stage)] if code == "W" else []


def pipeline_run(name, orders, kind="run"):
    run = RunBuilder(name, kind)
    works = {work for order in orders for cell in order for work in cell}
    last_stage = max(stage for _, _, stage in works)
    run.ranks = [{"label": f"rank {r}", "devices": 8} for r in range(len(orders))]
    for r in range(len(orders)):
        run.tracks += [{"rank": r, "label": f"rank {r}", "stream": s} for s in ("compute", "pipeline")]
    done, at, clock = {}, [0] * len(orders), [0] * len(orders)
    while any(at[r] < len(order) for r, order in enumerate(orders)):
        before = list(at)
        for rank, order in enumerate(orders):
            if at[rank] == len(order):
                continue
            cell = order[at[rank]]
            sources = [n for w in cell for n in needs(w, last_stage) if n in works and n not in cell]
            if any(n not in done for n in sources):
                continue
            clock[rank] = lay(run, rank, cell, [done[n] for n in sources], clock[rank], done, len(orders))
            at[rank] += 1
        assert at != before, f"{name}: the orders wait for each other"
    close_gaps(run, clock)
    return run


def lay(run, rank, cell, sources, ready, done, ranks):
    """One cell: what it waits for arrives, then it runs. Returns its end."""
    arrivals = [(ready, None)]
    for source in sources:
        end, track = source["begin"] + source["length"], source["track"]
        if track == 2 * rank:
            arrivals.append((end, source))
            continue
        sent = run.slice(track=track + 1, begin=end, length=TRANSFER, microbatch=source["microbatch"],
                         stage=source["stage"], cause=source, critical=0,
                         origin=run.origin("send activations", 7, size=1 << 20, links="pp+, 50 GB/s"))
        run.arrows.append((source, sent))
        arrivals.append((end + TRANSFER, sent))
    begin, cause = max(arrivals, key=lambda one: one[0])
    if begin > ready:
        run.bubbles.append({"rank": rank, "begin": ready, "length": begin - ready, "cause": cause,
                            "text": run.texts(f"waits for {name_of(cause, run)}")})
    ticks = sum(TICKS[code] for code, _, _ in cell)
    row = {"rank": rank, "begin": begin, "length": ticks}
    for prefix, (code, m, stage) in zip(("", "second_"), cell):
        name = "optimizer" if code == "O" else f"{code}{m} of stage {stage}"
        part = run.slice(track=2 * rank, begin=begin, length=TICKS[code], stage=stage,
                         microbatch=0 if code == "O" else m + 1, chunk=stage // ranks,
                         origin=run.origin(name, OF_CODE[code], layer=stage), critical=int(rank == 0))
        part["cause"] = cause
        for _, source in arrivals[1:]:
            run.arrows.append((source, part))
        done[(code, m, stage)] = part
        row |= {prefix + "code": run.texts(code) + (1 if prefix else 0), prefix + "microbatch": m,
                prefix + "chunk": stage // ranks, prefix + "stage": stage}
        begin += TICKS[code]
    run.cells.append(row)
    return begin


def name_of(cause, run):
    return run.texts.list[run.origins[cause["origin"]]["name"]]


def close_gaps(run, clock):
    for rank, end in enumerate(clock):
        if end < max(clock):
            run.bubbles.append({"rank": rank, "begin": end, "length": max(clock) - end,
                                "text": run.texts("no work left"), "cause": None})
