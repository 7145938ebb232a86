"""What workers take of a cluster."""

import pytest

from limbeck.cluster.workers import ClusterUnusable, Resources


def test_shares_of_the_cluster() -> None:
    cluster = {"CPU": 16.0, "GPU": 2.0}

    assert Resources().per_worker(cluster) == (16, 0.0)
    assert Resources(threads=3).per_worker(cluster) == (5, 0.0)
    assert Resources(is_on_gpu=True).per_worker(cluster) == (2, 1.0)
    assert Resources(workers=3, is_on_gpu=True).per_worker(cluster) == (3, 0.5)
    assert Resources(workers=8, is_on_gpu=True).per_worker(cluster) == (8, 0.25)
    assert Resources(workers=3, is_on_gpu=True).per_worker({"CPU": 4.0}) == (3, 0.0)
    with pytest.raises(ClusterUnusable, match="32 threads"):
        Resources(threads=32).per_worker(cluster)
