"""Three calls through a client of openapi-generator: the regions, a new tag, and the same tag again, which is refused.

Arguments: the address with the version, and a token. Without arguments the client is imported and nothing is called.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

client: Any = importlib.import_module("generated_client")


def call(host: str, token: str) -> None:
    with client.ApiClient(client.Configuration(host=host)) as visitor:
        regions = client.RegionsApi(visitor).list_regions().data
    print(",".join(sorted(region.id for region in regions)))

    with client.ApiClient(client.Configuration(host=host, access_token=token)) as owner:
        tags, body = client.TagsApi(owner), client.TagCreate(label="garden")
        print(tags.create_tag(body).label)
        try:
            tags.create_tag(body)
        except client.ApiException as refused:
            for error in refused.data.errors:
                print(f"{error.var_field}: {error.reason}")


if __name__ == "__main__" and len(sys.argv) > 1:
    call(*sys.argv[1:])
