"""The account: who the customer is. Contact data and settings; knows no other resource.

Endpoints of ``/v4/account`` that need more are in the packages that know it: what the account owes and its traffic in
``billing``, the managed service in ``managed``, and its end in ``closing``.
"""
